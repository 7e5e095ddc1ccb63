// Pages with two choices that can't be taken back, things to fill in after them, and a button that
// ends the trial. Which second choice is right depends on the first. Once both are made, a line says
// what is wrong with them, if anything is: first with the second one, beside this first one.

// The texts of two lists that were chosen, and what is wrong with them (`flaw`).
const twoLists = (lists, flaw) => {
  const chosen = [];
  const line = make("p", "");
  const parts = lists.map((texts, place) => {
    const part = make("div", "");
    part.append(...buttons(texts, (text) => {
      chosen[place] = text;
      part.replaceChildren(make("p", text));
      if (chosen[0] && chosen[1]) line.textContent = flaw(...chosen);
    }));
    return part;
  });
  return { parts: [...parts, line], right: () => chosen[0] && chosen[1] && !flaw(...chosen) };
};

const field = (name, wanted) => {
  const input = make("input", "", { placeholder: name });
  return { part: input, right: () => input.value.trim() === wanted };
};

const box = (name, wanted) => {
  const input = make("input", "", { type: "checkbox" });
  const label = make("label", "");
  label.append(input, ` ${name}`);
  return { part: label, right: () => input.checked === wanted };
};

// `goal` says what to choose from the two `lists`; `flaw()` is drawn for the seed, and returns the
// function of the two choices. `fields(seed)` has the texts to enter by name, `boxes` are to be
// ticked and `others` are not.
const declareChoices = ({ title, goal, lists, flaw, fields, boxes, others, send }) => declare(
  (seed) => {
    const texts = Object.entries(fields(seed)).map(([name, text]) => `${text} as ${name}`);
    return `${goal} Enter ${texts.join(" and ")}, tick ${boxes.join(" and ")}, and press ${send}.`;
  },
  (seed) => {
    const { parts, right } = twoLists(lists, flaw());
    const rest = [
      ...Object.entries(fields(seed)).map(([name, text]) => field(name, text)),
      ...[...boxes, ...others].sort().map((name) => box(name, boxes.includes(name))),
    ];
    const finish = () => end(right() && rest.every((one) => one.right()) ? 1 : -1);
    show(title, ...parts, ...rest.map(({ part }) => part),
      make("button", send, { onclick: finish }));
  },
);

// A list of groups: `North 1`, `North 2`, ...
const inGroups = (groups, ends) => groups.flatMap((group) => ends.map((end) => `${group} ${end}`));
const groupOf = (text) => text.slice(0, text.lastIndexOf(" "));

// One group of the first list is right, and another one of the second list goes with each of the
// first. `apart` and `wrong` say what is wrong with two groups, and with the first alone.
const inPairs = (firsts, seconds, apart, wrong) => () => {
  const [right, order] = [draw(firsts), shuffled(seconds)];
  return (...chosen) => {
    const [first, second] = chosen.map(groupOf);
    if (order[firsts.indexOf(first)] !== second) return apart(first, second);
    return first === right ? "" : wrong(first);
  };
};

// Three neighbours of each list are right. The higher the first choice, the lower those of the second.
// `seconds` and `firsts` say what a choice below them leads to, and one above them.
const inTurn = (lists, seconds, firsts) => () => {
  const [low, most] = [draw([1, 2, 3, 4, 5]), draw([7, 8])];
  const said = (texts, place, lowest) =>
    place < lowest ? texts[0] : place > lowest + 2 ? texts[1] : "";
  return (...chosen) => {
    const [first, second] = chosen.map((text, place) => lists[place].indexOf(text));
    return said(seconds, second, most - first) || said(firsts, first, low);
  };
};
