"""Your own pages with a backend: requests that the task answers, or nothing."""

import pytest
from support.own_pages import click, texts

from pytest_miniwob_agent.core.errors import PageError

pytestmark = pytest.mark.integration


CART = """
    <ul id="cart"></ul><p id="line"></p>
    <button onclick="add('mug', 2)">Add two mugs</button>
    <button onclick="add('', 0)">Add nothing</button>
    <button onclick="remove()">Remove the mugs</button>
    <button onclick="order()">Order</button>
    <script>
      const write = (lines) => {
        cart.textContent = lines.map(({ name, count }) => `${count} ${name}`).join(", ") || "empty";
      };
      const send = (method, url, body) => fetch(url, { method,
        headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
      const add = async (name, count) => {
        const answer = await send("POST", "/api/cart", { name, count });
        const said = await answer.json();
        line.textContent = answer.status;
        if (answer.ok) write(said);
      };
      const remove = async () => write(await (await send("DELETE", "/api/cart/mug?all=1")).json());
      const order = () => {
        const request = new XMLHttpRequest();
        request.open("POST", "/api/orders");
        request.responseType = "json";
        request.onload = () => {
          const { pathname } = new URL(request.responseURL);
          line.textContent = `${request.status} ${request.response.number} ${pathname}`;
        };
        request.send(new URLSearchParams({ pay: "card" }));
      };
      window.task = {
        goal: "Order two mugs.",
        setup: (seed, { state }) => { state.cart = [{ name: "pot", count: seed }]; },
        api: {
          "GET /api/cart": ({ state }) => state.cart,
          "POST /api/cart": ({ body, state }) => {
            if (!body.name) return Response.json({ error: "no name" }, { status: 422 });
            state.cart.push(body);
            return state.cart;
          },
          "DELETE /api/cart/:name": ({ params, query, state }) => {
            if (query.all !== "1") return null;
            return state.cart = state.cart.filter(({ name }) => name !== params.name);
          },
          "POST /api/orders": async ({ body, seed }) => ({ number: `${body.pay}-${seed}` }),
        },
        reward: (seed, { asked, state }) => {
          if (!asked("POST", "/api/orders")) return 0;
          return asked("POST", "/api/cart", { name: "mug" })
            && asked("POST", "/api/orders", { pay: "card" })
            && !asked("POST", "/api/cart", { name: "cup" }) && state.cart.length === 2 ? 1 : -1;
        },
      };
      fetch("/api/cart").then((answer) => answer.json()).then(write);
    </script>
"""


class TestApi:
    def test_a_task_answers_requests_and_demands_them(self, pages):
        env, seen = pages.show(CART, 3)
        assert "3 pot" in texts(seen)
        after = click(env, seen, "Add nothing").observation
        assert "422" in texts(after)
        after = click(env, after, "Add two mugs").observation
        assert {"3 pot, 2 mug", "200"} <= set(texts(after))
        after = click(env, after, "Remove the mugs").observation
        assert "3 pot" in texts(after)
        after = click(env, after, "Add two mugs").observation
        assert click(env, after, "Order").solved
        assert list(env.remarks()) == []

    def test_the_state_is_new_in_each_trial(self, pages):
        env, seen = pages.show(CART, 1)
        click(env, seen, "Add two mugs")
        assert "1 pot" in texts(env.reset())
        assert click(env, env.reset(), "Order").reward == -1

    def test_an_xml_http_request_has_status_type_and_address_of_the_answer(self, pages):
        env, seen = pages.show(CART.replace('if (!asked("POST", "/api/orders"))', "if (state)"), 7)
        seen = click(env, seen, "Order").observation
        assert "200 card-7 /api/orders" in texts(seen)

    def test_requests_and_state_go_on_from_page_to_page_and_a_form_is_answered(self, pages):
        task = """
            window.task = {
              goal: "Send the form.",
              api: {
                "POST /login": ({ body, state }) => {
                  state.user = body.user;
                  return Response.redirect("/in.html", 303);
                },
                "GET /me": ({ state }) => state.user,
              },
              reward: (seed, { asked }) =>
                asked("GET", "/me") && asked("POST", "/login", { user: "a" }) ? 1 : 0,
            };
        """
        pages.write(
            site__task_js=task,
            site__index_html="""
                <!DOCTYPE html><script src=/task.js></script>
                <form method=post action=/login>
                  <input name=user value=a><button>Log in</button>
                </form>
            """,
            site__in_html="""
                <!DOCTYPE html><script src=/task.js></script><p id=who></p>
                <script>
                  fetch("/me").then((a) => a.json()).then((name) => { who.textContent = name; });
                </script>
            """,
        )
        env = pages.open("site")
        seen = env.reset()
        assert click(env, seen, "Log in").solved

    def test_what_nothing_answers_is_remarked_with_its_method(self, pages):
        env, seen = pages.show(
            CART.replace('"POST /api/orders"', '"POST /api/other"').replace(
                "const remove", "const gone"
            )
        )
        click(env, seen, "Order")
        assert "nothing answers POST /api/orders" in env.remarks()

    @pytest.mark.parametrize(
        ("old", "new", "fault"),
        [
            (
                '"GET /api/cart":',
                '"/api/cart":',
                'task.api has "/api/cart": a route is a method and',
            ),
            (
                "({ state }) => state.cart,",
                "() => nope,",
                'task.api["GET /api/cart"] threw Reference',
            ),
            (
                '"GET /api/cart":',
                '"GET /api/([^/]+)":',
                'task.api has "GET /api/([^/]+)": its path is no URLPattern',
            ),
        ],
    )
    def test_a_fault_of_the_api_names_the_route(self, pages, old, new, fault):
        with pytest.raises(PageError) as error:
            pages.show(CART.replace(old, new, 1))
        assert fault in str(error.value)


def test_paths_of_routes_are_those_of_url_patterns(pages):
    body = """
        <p id="said"></p><script>
          const task = {
            goal: "Look.",
            reward: () => 0,
            api: {
              "GET /items/:id(\\\\d+)": ({ params }) => `item ${params.id}`,
              "GET /group{/:name}?": ({ params }) => `group ${params.name ?? "all"}`,
              "GET /alt/(a|b)": () => "alt",
              "GET /größe/:n?": ({ params }) => `size ${params.n ?? 0}`,
              "GET http://other.example/x": () => "other",
            },
          };
          const ask = async (path) => (await (await fetch(path)).text()).replaceAll('"', "");
          const PATHS = ["/items/7", "/items/a", "/group", "/group/x", "/alt/b", "/größe",
            "/größe/3", "http://other.example/x"];
          Promise.all(PATHS.map(ask)).then((found) => { said.textContent = found.join(", "); });
        </script>"""
    _, seen = pages.show(body)
    got = "item 7, , group all, group x, alt, size 0, size 3, other"
    assert texts(seen)[0] == got


WAITING = """
    <p id="said"></p><button onclick="ask('/slow')">Slow</button>
    <button onclick="ask('/total')">Total</button><button onclick="ask('/never')">Never</button>
    <button onclick="ask('/stream')">Stream</button><button onclick="askXhr()">Request</button>
    <button onclick="giveUp()">Patient</button>
    <script>
      const at = (text) => { said.textContent += ` ${text} ${performance.now() - begun}`; };
      let begun;
      const ask = async (path, signal) => {
        begun = performance.now();
        fetch("/quick").then((answer) => answer.text()).then(at);
        const answer = fetch(path, { signal }).then((answer) => answer.text());
        answer.then(at, ({ name }) => at(name));
      };
      const giveUp = () => {
        const controller = new AbortController();
        setTimeout(() => controller.abort(), 3000);
        ask("/never", controller.signal);
      };
      const askXhr = () => {
        begun = performance.now();
        const request = new XMLHttpRequest();
        request.open("GET", "/slow");
        request.onload = () => at(request.response);
        request.send();
      };
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      window.task = {
        goal: "Ask.",
        api: {
          "GET /quick": () => "quick",
          "GET /slow": async () => { await wait(800); return "slow"; },
          "GET /total": async () => {
            await wait(100);
            return `total ${await (await fetch("/slow")).json()}`;
          },
          "GET /never": () => new Promise(() => {}),
          "GET /stream": () => new Response(new ReadableStream({ async start(stream) {
            for (const text of "abc") {
              await wait(2500);
              stream.enqueue(new TextEncoder().encode(text));
            }
            stream.close();
          } })),
        },
        reward: () => 0,
      };
    </script>
"""


class TestHandlersThatWait:
    def test_time_passes_until_they_answer(self, pages):
        env, seen = pages.show(WAITING, screen="full")
        shown = ""
        for button, said in (
            ("Slow", '"quick" 0 "slow" 800'),
            ("Total", '"quick" 0 "total slow" 900'),
            ("Stream", '"quick" 0 abc 7500'),
            ("Request", '"slow" 800'),
            ("Patient", '"quick" 0 AbortError 3000'),
        ):
            shown = f"{shown} {said}".strip()
            assert shown in texts(click(env, seen, button).observation)
        assert list(env.remarks()) == []

    def test_one_that_never_answers_is_named(self, pages):
        env, seen = pages.show(WAITING, screen="full")
        with pytest.raises(PageError) as error:
            click(env, seen, "Never")
        why = 'task.api["GET /never"] did not answer within 10 seconds of the page\'s clock'
        assert str(error.value).endswith(f"page.html: {why}")


WAYS = """
    <p id="said"></p><iframe src="/frame.html"></iframe>
    <script>
      window.say = (...words) => { said.textContent += ` ${words.join(" ")}`; };
      const text = async (...request) => (await fetch(...request)).text();
      const pay = { method: "PUT", headers: { "X-Key": "7" }, body: '{"n": 1}' };
      const form = new FormData();
      form.append("cv", new File(["I am able"], "cv.txt"));
      const xhr = (path) => {
        const request = new XMLHttpRequest();
        request.open("GET", path, false);
        request.send();
        return [request.status, request.responseText];
      };
      const ways = {
        beacon: () => navigator.sendBeacon("/beacon", "gone"),
        blocking: () => say(...xhr("/some.txt"), ...xhr("/word")),
        cookie: async () => { document.cookie = "user=ann"; say(await text("/headers")); },
        file: async () => say(await text("/file", { method: "POST", body: form })),
        frame: () => frames[0].ask(),
        other: async () => say(await text("https://shop.test/pay", pay)),
        redirect: async () => {
          const { redirected, url } = await fetch("/away");
          say(redirected, new URL(url).pathname);
        },
        worker: () => {
          const worker = new Worker("/worker.js");
          worker.onmessage = ({ data }) => say(...data);
          worker.postMessage(null);  // an answer to a message is waited for
        },
      };
      for (const name in ways) {
        const button = document.createElement("button");
        button.textContent = name;
        button.onclick = ways[name];
        document.body.append(button);
      }
      window.task = {
        goal: "Ask.",
        api: {
          "GET /word": () => "word",
          "GET /headers": ({ headers }) => [headers.cookie, headers["user-agent"]],
          "GET /away": () => Response.redirect("/some.txt"),
          "POST /file": async ({ body }) => [body.cv.name, await body.cv.text()],
          "PUT https://shop.test/pay": ({ body, headers }) => [body.n, headers["x-key"]],
        },
        reward: (seed, { asked }) => asked("POST", "/beacon") ? 1 : 0,
      };
    </script>
"""
FRAME = """
    <script>
      window.ask = () => fetch("/word").then((answer) => answer.json())
        .then((word) => parent.say("framed", word));
    </script>
"""
WORKER = """
    onmessage = async () => postMessage([await (await fetch("/word")).text(), Date.now()]);
"""


def test_a_task_is_asked_in_whatever_way_the_page_asks(pages):
    pages.write(frame_html=FRAME, worker_js=WORKER, some_txt="some")
    env, seen = pages.show(WAYS)
    shown = ""
    for way, said in {
        "worker": '"word" 1600000006000',
        "blocking": "200 some 404",
        "cookie": '["user=ann",null]',
        "file": '["cv.txt","I am able"]',
        "frame": "framed word",
        "other": '[1,"7"]',
        "redirect": "true /some.txt",
    }.items():
        shown = f"{shown} {said}".strip()
        assert texts(click(env, seen, way).observation)[0] == shown
        blocked = "the task can't answer a synchronous request: GET http://pages.localhost/word"
        remarks = {"blocking": [blocked, "nothing answers GET /word"]}.get(way, [])
        assert [one for one in env.remarks() if not one.startswith("a worker")] == remarks
    assert click(env, seen, "beacon").solved  # what it says has arrived before the task judges
