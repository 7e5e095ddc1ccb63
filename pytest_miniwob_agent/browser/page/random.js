// Random numbers before the seed is set: a linear congruential generator, the same every time. On
// your own pages, which need no `core.js`, it gets the seed too.

const Random = (() => {
  const { own, outer, handed } = Visit;

  let state = handed?.random ?? 1;
  Math.random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  if (outer) Math.random = outer.random;
  const seedRandom = (seed) => {
    state = 1 + (Math.imul(seed + 1, 2654435761) >>> 0) % 2147483646;
    for (let count = 0; count < 3; count++) Math.random();
  };

  if (own || outer) {
    const bytesOf = ({ buffer, byteOffset, byteLength }) =>
      new Uint8Array(buffer, byteOffset, byteLength);
    crypto.getRandomValues = (array) => {
      bytesOf(array).forEach((_, index, bytes) => { bytes[index] = Math.random() * 256; });
      return array;
    };
    crypto.randomUUID = () => {
      const hex = [...crypto.getRandomValues(new Uint8Array(16))]
        .map((byte) => byte.toString(16).padStart(2, "0")).join("");
      return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`,
        hex.slice(20)].join("-");
    };
  }

  return { seedRandom, get state() { return state; } };
})();
