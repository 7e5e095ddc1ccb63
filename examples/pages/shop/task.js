// The task of the shop, which all of its pages load: goal, setup and reward follow from the seed. The
// basket and the orders are on the shop's server, whose answers are in `api`; the address that was
// entered is in the session's storage until then.

const load = (name, otherwise) => JSON.parse(sessionStorage.getItem(name)) ?? otherwise;
const save = (name, value) => sessionStorage.setItem(name, JSON.stringify(value));
const money = (cents) => `£${(cents / 100).toFixed(2)}`;
const total = (basket) => basket.reduce((sum, { price, count }) => sum + price * count, 0);

// Ask the server, in JSON.
const ask = async (method, path, body) => {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  return answer.json();
};

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
  setup(seed, { state }) {
    const other = pick(PRODUCTS, seed + 2);
    state.basket = [wanted(seed).product, other].map((product) => ({ ...product, count: 1 }));
  },

  api: {
    "GET /api/basket": ({ state }) => state.basket,
    "PUT /api/basket/:name": ({ params, body, state }) => {
      const name = decodeURIComponent(params.name);
      const lines = state.basket.map((one) => one.name === name ? { ...one, ...body } : one);
      return state.basket = lines.filter(({ count }) => count);
    },
    "POST /api/orders": ({ body }) => body.payment
      ? Response.json({ message: "Thank you for your order." }, { status: 201 })
      : Response.json({ message: "Choose how you pay." }, { status: 422 }),
  },

  // An order without a payment is not one.
  reward(seed, { asked, state }) {
    const { product, count, person, way, payment } = wanted(seed);
    const placed = ["card", "invoice", "voucher"]
      .some((means) => asked("POST", "/api/orders", { payment: means }));
    if (!placed) return 0;
    const right = JSON.stringify(state.basket) === JSON.stringify([{ ...product, count }])
      && asked("POST", "/api/orders", { payment, address: { ...person, way } });
    return right ? 1 : -1;
  },
};
