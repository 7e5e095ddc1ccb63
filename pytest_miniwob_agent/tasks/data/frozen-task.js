// The task on a frozen copy of {page}.
// All pages load this script first. Write the goal and the reward; what they may use is described in
// docs/your-own-pages.md of pytest-miniwob-agent.

window.task = {
  // What the agent is asked to do: a text, or a function of the seed.
  goal: "Say here what is to be done on this page.",

  // Asked after each action: 0 while the task is not decided, 1 if it is solved, -1 if it has failed.
  // For instance: asked("POST", "/api/cart", { id: 7 }), or location.pathname === "/thanks.html".
  reward: (seed, { asked }) => 0,
};
