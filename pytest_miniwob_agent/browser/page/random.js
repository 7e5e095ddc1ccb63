// Random numbers before the seed is set: a linear congruential generator, the same every time.

let state = 1;
Math.random = () => {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
};
