"""Solutions of the pages of the suite `apps` by what is on the screen alone, clean or perturbed."""

import re
from itertools import pairwise

from support.in_browser import run_script

from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.core.actions import Choose, Click, Enter, Wait
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import Catalogue
from pytest_miniwob_agent.tasks.selectors import select_tasks

MOST_STEPS = 60


class Screen:
    """What is on the screen, in words that `words` translates."""

    def __init__(self, seen, words):
        self.goal = seen.goal
        self.elements = seen.elements
        self.words = words

    def said(self, text):
        return self.words(text)

    def all(self, *roles):
        return [one for one in self.elements if one.role in roles]

    def shows(self, text, *roles):
        return any(one.text == self.said(text) for one in (self.all(*roles) or self.elements))

    def press(self, text):
        [found] = [one for one in self.all("button") if one.text == self.said(text)]
        return Click(found.id)

    def field(self, label, value, among=None):
        """The action that fills a field, None if it is filled."""
        fields = [one for one in (among or self.elements) if one.role in ("textbox", "combobox")]
        [found] = [one for one in fields if one.text == self.said(label)]
        if found.value == value:
            return None
        choose = found.role == "combobox"
        return Choose(value, found.id) if choose else Enter(value, found.id)

    def below(self, heading):
        """The elements below a heading, up to the next one."""
        at = [number for number, one in enumerate(self.elements) if one.role == "heading"]
        for first, last in pairwise([*at, len(self.elements)]):
            if self.elements[first].text == self.said(heading):
                return self.elements[first + 1 : last]
        raise AssertionError(f"there is no heading {heading}")

    def beside(self, text, other, role="button"):
        [found] = [
            one
            for one, more in pairwise(self.elements)
            if (one.role, one.text, more.text) == (role, text, self.said(other))
        ]
        return Click(found.id)


def shop(screen, count, product, department, way):
    if not screen.shows("Shop", "heading"):
        return screen.field("Delivery", screen.said(way)) or screen.press("Pay")
    cart = re.compile(re.escape(screen.said("Cart (0)")).replace("0", r"(\d+)"))
    [have] = [int(found[1]) for one in screen.elements if (found := cart.fullmatch(one.text))]
    if have >= int(count):
        return screen.press("Check out")
    add = screen.said(f"Add {product}")
    return Click(next(one.id for one in screen.below(department) if one.text == add))


def login(screen, label, section, value):
    return screen.field(label, value, screen.below(section)) or screen.press("Save")


def mail(screen, deed, subject, sender, text):
    if screen.shows("Inbox", "heading"):
        return screen.beside(subject, f"from {sender}")
    answer = screen.field("Your answer", text) if text else None
    return answer or screen.press(deed)


def issues(screen, title, project, assignee, priority):
    if screen.shows("Issues", "heading"):
        return screen.beside(title, f"in {project}")
    return (
        screen.field("Assignee", screen.said(assignee))
        or screen.field("Priority", screen.said(priority))
        or screen.press("Save")
    )


def bank(screen, amount, account, name, town, reason):
    if not screen.shows("From"):
        return screen.press("Confirm")
    payee = screen.beside(name, f"in {town}", "radio")
    chosen = next(one for one in screen.elements if one.id == payee.element).value
    return (
        screen.field("From", screen.said(account.capitalize()))
        or (None if chosen else payee)
        or screen.field("Amount", amount)
        or screen.field("Reason", reason)
        or screen.press("Continue")
    )


GOALS = {
    shop: r'Order (\d) of the product "(.*?)" of the department "(.*?)" and .* delivery "(.*?)"',
    login: r'set the field "(.*?)" of the section "(.*?)" to "(.*?)"',
    mail: r'(\w+) the mail "(.*?)" by ([\w ]+?)(?: with the text "(.*?)")?\.',
    issues: r'the issue "(.*?)" of the project (\w+) to (\w+) and .* priority "(.*?)"',
    bank: r'£(\d+) from the (.*?) to ([\w ]+?) in (\w+) with the reason "(.*?)"',
}


def sign_in(screen):
    user, password = re.search(r'the user "(.*)" with the password "(.*)"', screen.goal).groups()
    shown = next(one for one in screen.elements if one.text == screen.said("Password"))
    filled = shown.value and len(shown.value) == len(password)
    return (
        screen.field("User", user)
        or (None if filled else Enter(password, shown.id))
        or screen.press("Sign in")
    )


def next_action(screen, solve):
    texts = [one.text for one in screen.elements]
    if any(text in texts for text in ("Loading…", screen.said("Please wait…"))):
        return Wait(4)
    if covering := [one for one in screen.elements if one.role == "dialog"]:
        inside = screen.elements[screen.elements.index(covering[0]) + 1 :]
        return Click([one for one in inside if one.role == "button"][-1].id)
    if screen.shows("Password", "textbox"):
        return sign_in(screen)
    return solve(screen, *re.search(GOALS[solve], screen.goal).groups())


def translate_with(declared):
    """A function that translates as the perturbation does."""

    def said(text):
        for known, other in declared.items():
            pattern = re.escape(known).replace(r"\{\}", "(.*)")
            if found := re.fullmatch(pattern, text):
                return other.replace("{}", found[1]) if "{}" in other else other
        return text

    return said


def open_item(browser, name, seed):
    catalogue = Catalogue()
    [(category, task)] = select_tasks([f"apps/{name}"], catalogue)
    return open_page(browser, Case(task, category, seed), catalogue.pages[task])


def play(browser, name, seed):
    page = open_item(browser, name, seed)
    seen = [page.reset(screen="tree")]
    base, _, kind = name.partition("~")
    declared = run_script(browser, "return task.perturb[arguments[0]]", kind)
    words = translate_with(declared) if kind in ("reworded", "language") else str
    for _ in range(MOST_STEPS):
        action = next_action(Screen(seen[-1], words), globals()[base])
        transition = page.step(action)
        seen.append(transition.observation)
        if transition.done:
            return seen, transition.reward, page
    return seen, 0, page
