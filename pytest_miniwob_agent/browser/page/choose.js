// Choosing an option of a drop-down list with keys.

const Choosing = (() => {
  const { byId, squeeze } = Leaves;
  const { aim, quote } = Aim;

  // The input that chooses an option: the point to click and the number of steps down from the
  // first option. An error is a text.
  const option = async (id, wanted) => {
    const aimed = await aim([[id, null]]);
    if (typeof aimed === "string") return aimed;
    const element = byId.get(id);
    if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1) {
      return `the element with id=${id} is no drop-down list`;
    }
    if (element.matches(":disabled")) return `the list with id=${id} can't be used now`;
    const names = [...element.options]
      .filter((option) => !option.matches(":disabled") && !option.hidden)
      .map((option) => squeeze(option.text));
    const at = names.indexOf(squeeze(wanted));
    if (at >= 0) return { point: aimed[0], down: at };
    const few = names.slice(0, 20).map(quote).join(", ");
    return `the list with id=${id} has no option ${quote(wanted)}; it has ${few}`
      + (names.length > 20 ? ` and ${names.length - 20} more` : "");
  };

  return { option };
})();
