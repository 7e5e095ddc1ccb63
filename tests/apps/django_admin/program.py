"""A Playwright script on the admin, which shows the model what it reads."""

from playwright.sync_api import sync_playwright


class Program:
    name = "program"

    def solve(self, env, llm, note):
        goal = env.reset().goal
        with env.hand_over() as handed, sync_playwright() as playwright:
            page = playwright.chromium.connect_over_cdp(handed.cdp_url).contexts[0].pages[0]

            def see():
                llm.complete(f"{goal}\n{page.url}\n{page.inner_text('body')}", "see")

            see()
            page.get_by_label("Username:").fill("admin")
            page.get_by_label("Password:").fill("secret")
            page.get_by_role("button", name="Log in").click()
            page.get_by_role("link", name="Users").click()
            see()
            if "bob" in goal:
                page.get_by_role("link", name="bob").click()
                see()
                page.get_by_role("link", name="Delete").click()
                page.get_by_role("button", name="Yes, I’m sure").click()
            else:
                page.reload()
                page.go_back()
                see()
                page.go_forward()
                users = page.url
                page = page.context.new_page()
                page.goto(users + "add/")
                see()
                page.get_by_label("Username:").fill("carol")
                page.locator("#id_password1").fill("Xk29-sop")
                page.locator("#id_password2").fill("Xk29-sop")
                page.get_by_role("button", name="Save", exact=True).click()
            page.get_by_text("successfully").wait_for()
            see()
