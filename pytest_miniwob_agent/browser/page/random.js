// Random numbers before the seed is set: a linear congruential generator, the same every time. On
// your own pages, which need no `core.js`, it gets the seed too.

const Random = (() => {
  const { own, outer, handed } = Visit;

  let state = handed?.random ?? 1;
  const next = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  window.Math.random = outer?.random ?? next;
  const seedRandom = (seed) => {
    state = 1 + (Math.imul(seed + 1, 2654435761) >>> 0) % 2147483646;
    for (let count = 0; count < 3; count++) next();
  };

  if (own || outer) {
    const { Uint8Array } = window;
    const DIGITS = "0123456789abcdef";
    crypto.getRandomValues = (array) => {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let at = 0; at < bytes.length; at++) bytes[at] = window.Math.random() * 256;
      return array;
    };
    crypto.randomUUID = () => {
      let uuid = "";
      for (let at = 0; at < 16; at++) {
        const byte = Math.floor(window.Math.random() * 256);
        if (at === 4 || at === 6 || at === 8 || at === 10) uuid += "-";
        uuid += ({ 6: "4", 8: "a" }[at] ?? DIGITS[byte >> 4]) + DIGITS[byte & 15];
      }
      return uuid;
    };
  }

  return { seedRandom, get state() { return state; } };
})();
