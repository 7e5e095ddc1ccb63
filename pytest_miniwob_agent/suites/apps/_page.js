// What the pages of this folder share. Each is an app with a server of its own (`task.api`). Its user is
// signed in; if the session has ended, the server answers 401, and the page asks to sign in again.

const PEOPLE = [["ada", "tulip7"], ["tom", "gravel3"], ["mina", "harbour5"]];
const pick = (list, number) => list[number % list.length];
const personOf = (seed) => pick(PEOPLE, seed);

const here = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...content) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
};
const button = (text, press) => make("button", { type: "button", textContent: text, onclick: press });
const field = (label, properties = {}) => make("label", {}, `${label} `, make("input", properties));
const choice = (label, id, entries) => make("label", {}, `${label} `, make("select", { id },
  ...entries.map(([value, text]) => make("option", { value, textContent: text }))));

const show = (title, ...content) => here("page").replaceChildren(make("h1", { textContent: title }), ...content);
const say = (text) => { here("said").textContent = text; };

// Ask the server, in JSON; null where it refuses.
const ask = async (method, path, body) => {
  say("Please wait…");
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const said = answer.status === 204 ? {} : await answer.json();
  say(said.error ?? "");
  if (answer.status === 401) signIn();
  return answer.ok ? said : null;
};

// Ask for the user's name and password, in front of what the page shows.
const signIn = (done = () => {}) => {
  const form = make("form", { id: "sign-in" }, make("h2", { textContent: "Sign in" }), field("User", { id: "user" }),
    field("Password", { id: "password", type: "password" }), make("button", { textContent: "Sign in" }));
  form.onsubmit = async (event) => {
    event.preventDefault();
    const [user, password] = [here("user").value, here("password").value];
    if (!await ask("POST", "/api/session", { user, password })) return;
    form.remove();
    done();
  };
  here("sign-in")?.remove();
  here("page").before(form);
};

// The words of the parts above.
const REWORDED = {
  "Please wait…": "One moment…", "Sign in": "Log in", "User": "Account name", "Password": "Secret word",
  "Sign in first.": "Log in first.", "Name or password is wrong.": "These details are wrong.",
};
const GERMAN = {
  "Please wait…": "Bitte warten…", "Sign in": "Anmelden", "User": "Benutzer", "Password": "Passwort",
  "Sign in first.": "Bitte zuerst anmelden.", "Name or password is wrong.": "Name oder Passwort ist falsch.",
};

// Declare the task of a page. Its `api` answers only a user who is signed in. `twins`, `reworded`,
// `language`, `moved` and `failing` are for perturbations.
const declare = ({ goal, setup, api, signedIn = true, twins, reworded, language, moved, failing, reward }) => {
  const known = ([route, answer]) => [route, (request) => request.state.user ? answer(request)
    : Response.json({ error: "Sign in first." }, { status: 401 })];
  window.task = {
    goal: (seed) => `${goal(seed)} You are the user "${personOf(seed)[0]}" with the password "${personOf(seed)[1]}".`,
    setup(seed, { state }) {
      if (signedIn) state.user = personOf(seed)[0];
      setup(seed, state);
    },
    api: {
      ...Object.fromEntries(Object.entries(api).map(known)),
      "POST /api/session": ({ body, state, seed }) => {
        if ([body.user, body.password].join() !== personOf(seed).join()) {
          return Response.json({ error: "Name or password is wrong." }, { status: 403 });
        }
        state.user = body.user;
      },
    },
    reward: (seed, { state }) => reward(seed, state),
    perturb: {
      reworded: { ...REWORDED, ...reworded },
      language: { ...GERMAN, ...language },
      moved,
      failing,
      twins: (seed, { state }) => twins(seed, state),
      expired({ method, state }) {
        if (method === "GET" || !state.user) return false;
        state.user = null;
        return true;
      },
    },
  };
};
