// The lines of the tree together, from version 2 of screens on: what holds for all that is in a line is said
// there alone, and what tells nothing is left out.

// Roles of what is used by itself.
export const CONTROLS = new Set("button checkbox combobox link radio searchbox spinbutton switch textbox".split(" "));

// Leave of each line's names of classes those that the fewest lines have: what they add to it.
const MOST_CLASSES = 2;
const GENERATED = /^(css|sc)-/; // by libraries, from the styles
export const distinguish = (lines) => {
  const found = lines.flatMap(({ details = [] }) => details.filter(([name]) => name === "class"));
  const lists = found.map(([, names]) => [...new Set(names.split(" "))]);
  const counts = Map.groupBy(lists.flat(), (name) => GENERATED.test(name) ? "" : name);
  const count = (name) => counts.get(name)?.length ?? Infinity;
  found.forEach((detail, at) => {
    const least = Math.min(...lists[at].map(count));
    detail[1] = lists[at].filter((name) => count(name) === least).slice(-MOST_CLASSES).join(" ");
  });
};

// How a line is out of sight, if it is.
const HIDDEN = / ?\b(covered|inert|outside)$/;
const state = ({ details = [] }) => details.find(([name]) => name === "state") ?? [];
const hiding = (line) => HIDDEN.exec(state(line)[1])?.[1] ?? "";

// Say of a line that all in it is out of sight, if the line itself is.
const gather = (line, kids, hides) => {
  const [word, ...others] = new Set(kids.filter(({ tag }) => tag !== "more").map(hiding));
  if (!word || others.length || hides(line) !== word) return;
  for (const one of [line, ...kids]) state(one)[1] = state(one)[1]?.replace(HIDDEN, "");
  state(line)[1] = `${state(line)[1]} ${word}`.trim();
};

// True for what has no name and no content, and is covered: a drawing, a box, or a field that editors hide.
const COVERED = { canvas: "covered", generic: "covered", img: "covered", textbox: "readonly covered" };
const blank = ({ role, text, value, details }) => !text && !value && details?.every(([name, detail]) =>
  name === "class" || (name === "state" ? detail === COVERED[role] : !detail));

// True for a cell that shows only the control in it.
const filled = ({ role, text, details }, kids) => /^(grid)?cell$/.test(role) && !text && kids.length === 1
  && CONTROLS.has(kids[0].role) && details.every(([, detail]) => !detail);

// The lines, shortened. Each but for those of long lists has a state, if an empty one.
export const outlined = (lines, hides) => {
  const gone = new Set();
  const below = []; // by depth: the lines there that are in the next one further up
  for (const line of lines.toReversed()) {
    const kids = below[line.depth + 1] ?? [];
    below.length = line.depth + 1;
    const all = filled(line, kids);
    if (!all) gather(line, kids, hides);
    if (all || (!kids.length && blank(line))) gone.add(line);
    (below[line.depth] ??= []).push(all ? kids[0] : line);
  }
  const around = []; // the depths of lines that are left out
  return lines.flatMap((line) => {
    while (around.at(-1) >= line.depth) around.pop();
    if (gone.has(line)) around.push(line.depth);
    const details = line.details?.filter(([, detail]) => detail);
    return gone.has(line) ? [] : [{ ...line, depth: line.depth - around.length, details }];
  });
};
