// The task of the shop, which all of its pages load: goal, setup and reward follow from the seed, and
// what was done on one page is in the session's storage for the others.

const load = (name, otherwise) => JSON.parse(sessionStorage.getItem(name)) ?? otherwise;
const save = (name, value) => sessionStorage.setItem(name, JSON.stringify(value));
const money = (cents) => `£${(cents / 100).toFixed(2)}`;
const total = () => load("basket", []).reduce((sum, { price, count }) => sum + price * count, 0);

const PRODUCTS = [["Blue mug", 850], ["Green mug", 850], ["Tea pot", 2400], ["Six spoons", 1295],
  ["Linen towel", 990]].map(([name, price]) => ({ name, price }));
const PEOPLE = [
  { name: "Ada Brook", street: "12 Mill Lane", town: "Hexham" },
  { name: "Tom Reeve", street: "3 Station Road", town: "Whitby" },
  { name: "Mina Holt", street: "48 Castle Street", town: "Ludlow" },
];
const WAYS = { standard: "by standard delivery", express: "by express delivery" };

const pick = (list, number) => list[number % list.length];

// The order that a seed asks for.
const wanted = (seed) => ({
  product: pick(PRODUCTS, seed),
  count: 2 + seed % 3,
  person: pick(PEOPLE, seed >> 1),
  way: pick(Object.keys(WAYS), seed + (seed >> 1)),
  payment: pick(["card", "invoice"], seed),
});

window.task = {
  goal(seed) {
    const { product, count, person, way, payment } = wanted(seed);
    return `Order ${count} of the product "${product.name}" and nothing else, ${WAYS[way]} to `
      + `${person.name}, ${person.street}, ${person.town}, and pay by ${payment}.`;
  },

  // The basket has one of the product already, and something that is not wanted.
  setup(seed) {
    const other = pick(PRODUCTS, seed + 2);
    save("basket", [wanted(seed).product, other].map((product) => ({ ...product, count: 1 })));
    show();
  },

  reward(seed) {
    const payment = load("ordered", null);
    if (payment === null) return 0;
    const { product, count, person, way, payment: means } = wanted(seed);
    const basket = [{ ...product, count }];
    const right = JSON.stringify(load("basket", [])) === JSON.stringify(basket)
      && JSON.stringify(load("address", {})) === JSON.stringify({ ...person, way })
      && payment === means;
    return right ? 1 : -1;
  },
};
