"""Your own pages: what comes to an end later without a timer, as if a model took no time."""

import io
import shutil
from textwrap import dedent

import pytest
from PIL import Image
from support.own_pages import Pages, click, texts

from pytest_miniwob_agent import Wait
from pytest_miniwob_agent.browser.server import FONTS, font_file

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("work")]

PAGE = """
    <p id="out">-</p><iframe src="/inner.html"></iframe>
    <script>
      let begun;
      const tell = (text) => { out.textContent += ` ${text}@${performance.now() - begun}`; };
      const bytes = (count) => new Uint8Array(count);
      const worker = (code) => URL.createObjectURL(new Blob([code]));
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const kinds = { KINDS };
      for (const name in kinds) {
        const button = document.createElement("button");
        button.textContent = name;
        button.onclick = () => {
          begun = performance.now();
          out.textContent = "-";
          kinds[name]();
        };
        document.body.append(button);
      }
      window.task = { goal: "Wait.", reward: () => 0 };
    </script>
"""

DELAYS = {
    "AbortSignal.timeout": (
        "AbortSignal.timeout(500).onabort = ({ target }) => tell(target.reason.name)",
        "TimeoutError@500",
    ),
    "postTask with a delay": (
        "scheduler.postTask(() => 'ran', { delay: 300 }).then(tell)",
        "ran@300",
    ),
    "postTask that is aborted": (
        """const controller = new TaskController();
        scheduler.postTask(() => tell('ran'), { delay: 300, signal: controller.signal })
          .catch(({ name }) => tell(name));
        setTimeout(() => controller.abort(), 200)""",
        "AbortError@200",
    ),
    "requestIdleCallback": ("requestIdleCallback(() => tell('idle'), { timeout: 900 })", "idle@1"),
    "Atomics.waitAsync": (
        """const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
        Atomics.waitAsync(new Int32Array(buffer), 0, 0, 600).value.then(tell)""",
        "timed-out@600",
    ),
    "animation in SVG": (
        """out.insertAdjacentHTML("afterend", `<svg><circle><animate id=moving to=90 dur=0.7s
          attributeName=cx begin=indefinite></animate></circle></svg>`);
        moving.addEventListener("endEvent", () => tell("ended"));
        moving.beginElement()""",
        "ended@4000",
    ),
    "observers": (
        """const box = document.createElement("p");
        box.style.width = "50px";
        out.after(box);
        new ResizeObserver(([{ contentRect }]) => tell(contentRect.width)).observe(box);
        new IntersectionObserver(([{ isIntersecting }]) => tell(isIntersecting)).observe(box);
        setTimeout(() => { box.style.width = "70px"; }, 100);
        setTimeout(() => { box.style.marginTop = "2000px"; }, 200);
        setTimeout(() => box.remove(), 300)""",
        "50@0 true@0 70@100 false@200 0@300",
    ),
    "locks": (
        """navigator.locks.request("one", () => wait(500));
        navigator.locks.request("one", () => tell("second"))""",
        "second@500",
    ),
    "work after a timer": (
        """setTimeout(async () => {
          await crypto.subtle.digest("SHA-256", bytes(3e7));
          tell("timer");
        }, 300);
        setTimeout(() => tell("later"), 301)""",
        "timer@300 later@301",
    ),
}
"""By name: a script, and what it tells at how many ms of the page's clock."""

WORK = {
    "IndexedDB": (
        """const request = indexedDB.open("db" + begun);
        request.onupgradeneeded = () => request.result.createObjectStore("all");
        request.onsuccess = () => {
          const transaction = request.result.transaction("all", "readwrite");
          const store = transaction.objectStore("all");
          for (let key = 0; key < 3000; key++) store.put({ text: "x".repeat(100) }, key);
          transaction.oncomplete = () => tell("put");
        }""",
        "put",
    ),
    "IndexedDB that is blocked": (
        """indexedDB.open("blocked", 1).onsuccess = () => {
          indexedDB.open("blocked", 2).onblocked = () => tell("blocked");
        }""",
        "blocked",
    ),
    "Cache": (
        """const cache = await caches.open("a");
        for (let count = 0; count < 30; count++) await cache.put("/" + count, new Response("a"));
        tell((await cache.keys()).length)""",
        "30",
    ),
    "files": (
        """const folder = await navigator.storage.getDirectory();
        for (const name of "abc") {
          const file = await (await folder.getFileHandle(name, { create: true })).createWritable();
          await file.write("text");
          await file.close();
        }
        let count = 0;
        for await (const [name, file] of folder) count += (await file.getFile()).size;
        tell(count)""",
        "12",
    ),
    "a key": (
        """const modulus = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
        await crypto.subtle.generateKey({ name: "RSA-OAEP", hash: "SHA-256", ...modulus }, true,
          ["decrypt", "encrypt"]);
        tell("key")""",
        "key",
    ),
    "bits": (
        """const { subtle } = crypto;
        const key = await subtle.importKey("raw", bytes(8), "PBKDF2", false, ["deriveBits"]);
        const way = { name: "PBKDF2", salt: bytes(8), iterations: 400_000, hash: "SHA-256" };
        tell((await subtle.deriveBits(way, key, 128)).byteLength)""",
        "16",
    ),
    "digests in a frame": (
        "tell((await frames[0].crypto.subtle.digest('SHA-512', bytes(3e7))).byteLength)",
        "64",
    ),
    "pictures": (
        """const canvas = new OffscreenCanvas(1500, 1500);
        canvas.getContext("2d").fillRect(0, 0, 9, 9);
        tell((await createImageBitmap(await canvas.convertToBlob())).width)""",
        "1500",
    ),
    "toBlob": (
        """const canvas = document.createElement("canvas");
        canvas.width = canvas.height = 2000;
        canvas.toBlob(({ type }) => tell(type))""",
        "image/png",
    ),
    "FileReader": (
        """const reader = new FileReader();
        reader.onload = () => tell(reader.result.length);
        reader.readAsText(new Blob([bytes(1e7)]))""",
        "10000000",
    ),
    "Blob": ("tell((await new Blob([bytes(2e7)]).arrayBuffer()).byteLength)", "20000000"),
    "Response": ("tell((await new Response(new Blob([bytes(2e7)])).blob()).size)", "20000000"),
    "streams": (
        """const whole = new Blob([bytes(1e7)]).stream().pipeThrough(new CompressionStream("gzip"))
          .pipeThrough(new DecompressionStream("gzip"));
        tell((await new Response(whole).arrayBuffer()).byteLength)""",
        "10000000",
    ),
    "bytes of a stream": (
        """const reader = new Blob([bytes(5)]).stream().getReader({ mode: "byob" });
        let count = 0;
        for (let part; !(part = await reader.read(bytes(3))).done;) count += part.value.length;
        tell(count)""",
        "5",
    ),
    "a file": ("tell((await (await fetch('/picture.png')).blob()).type)", "image/png"),
    "the size of a file": (
        """const ask = async (method) =>
          (await fetch("/picture.png", { method })).headers.get("content-length");
        tell(await ask("HEAD") > 1e6 && await ask("HEAD") === await ask("GET"))""",
        "true",
    ),
    "XMLHttpRequest": (
        """const request = new XMLHttpRequest();
        request.open("GET", "/picture.png");
        request.onload = () => tell(request.status);
        request.send()""",
        "200",
    ),
    "an image": (
        """const image = new Image();
        image.onload = () => tell(image.width);
        image.src = "/picture.png?" + begun""",
        "1200",
    ),
    "an image by an attribute": (
        """const image = document.createElement("img");
        image.addEventListener("load", () => tell(image.width));
        image.setAttribute("src", "/picture.png?attribute")""",
        "1200",
    ),
    "decode": (
        """const image = new Image();
        image.src = "/picture.png";
        await image.decode();
        tell(image.width)""",
        "1200",
    ),
    "a script": (
        """const script = document.createElement("script");
        script.src = "/more.js";
        script.onload = () => tell(window.more);
        document.head.append(script)""",
        "5",
    ),
    "a style sheet": (
        """const link = document.createElement("link");
        link.rel = "stylesheet";
        link.href = "/more.css";
        link.onload = () => tell(getComputedStyle(out).orphans);
        document.head.append(link)""",
        "7",
    ),
    "a font": ("tell((await new FontFace('Own', 'url(/font.ttf)').load()).status)", "loaded"),
    "WebAssembly": (
        "tell(await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])))",
        "[object WebAssembly.Module]",
    ),
    "sound that is computed": (
        "tell((await new OfflineAudioContext(1, 2e6, 44100).startRendering()).length)",
        "2000000",
    ),
    "tasks": (
        """for (let count = 0; count < 20; count++) await scheduler.yield();
        await scheduler.postTask(() => {}, { priority: "background" });
        tell("run")""",
        "run",
    ),
    "BroadcastChannel": (
        """const [one, other] = "ab".split("").map(() => new BroadcastChannel("a"));
        let count = 0;
        other.onmessage = () => (++count < 40 ? one.postMessage(count) : tell(count));
        one.postMessage(count)""",
        "40",
    ),
    "going back": (
        """history.pushState(null, "", "#one");
        history.pushState(null, "", "#two");
        addEventListener("popstate", () => tell(location.hash), { once: true });
        history.back()""",
        "#one",
    ),
    "questions": (
        "tell((await navigator.permissions.query({ name: 'geolocation' })).name)",
        "geolocation",
    ),
    "EventSource": ("new EventSource('/none').onerror = () => tell('error')", "error"),
    "WebSocket": ("new WebSocket('wss://shop.test').onerror = () => tell('error')", "error"),
    "a worker": (
        """const asked = new Worker(worker(`onmessage = ({ data }) => {
          for (let count = 0; count < 1e7 * data; count++);
          postMessage(data);
        }`));
        asked.onmessage = ({ data }) => tell(data);
        for (const number of [1, 2, 3]) asked.postMessage(number)""",
        "1@0 2@0 3",
    ),
    "a worker that speaks first": (
        """const first = new Worker(worker(`for (let count = 0; count < 6e8; count++);
          postMessage("ready")`));
        first.onmessage = ({ data }) => tell(data)""",
        "ready",
    ),
    "a shared worker": (
        """const { port } = new SharedWorker(worker(`onconnect = ({ ports: [port] }) => {
          port.onmessage = () => setTimeout(() => port.postMessage("shared"), 200);
        }`));
        port.onmessage = ({ data }) => tell(data);
        port.postMessage(1)""",
        "shared",
    ),
    "work of one kind in order": (
        """for (const size of [6e7, 1e5]) {
          crypto.subtle.digest("SHA-256", bytes(size)).then(() => tell(size));
        }""",
        "60000000@0 100000",
    ),
}
"""By name: a script, and what it tells when no time has passed."""

KINDS = DELAYS | {name: (script, f"{said}@0") for name, (script, said) in WORK.items()}


@pytest.fixture(scope="module")
def pages(browser, tmp_path_factory):
    pages = Pages(tmp_path_factory.mktemp("work"), browser)
    kinds = ", ".join(
        f'"{name}": async () => {{ {script} }}' for name, (script, _) in KINDS.items()
    )
    pages.write(
        work_html=f"<!DOCTYPE html><body>{dedent(PAGE.replace('KINDS', kinds))}</body>",
        inner_html="<!DOCTYPE html><p>Inside</p>",
        more_js="var more = 5;",
        more_css="p { orphans: 7 }",
    )
    picture = io.BytesIO()
    Image.effect_noise((1200, 1200), 100).save(picture, "png")
    (pages.folder / "picture.png").write_bytes(picture.getvalue())
    shutil.copy(font_file(next(iter(FONTS))), pages.folder / "font.ttf")
    return pages


@pytest.mark.sweep
def test_the_end_is_on_the_next_screen_at_a_time_of_the_pages_clock(pages):
    env = pages.open("work")
    seen = env.reset()
    told = {name: texts(click(env, seen, name).observation) for name in KINDS}
    late = {name: told[name] for name, (_, said) in KINDS.items() if f"- {said}" not in told[name]}
    assert late == {}


def test_functions_look_and_fail_as_those_of_the_browser(pages):
    env, seen = pages.show("""
        <p id="out"></p><p id="worker"></p><button onclick="ask()">Ask</button>
        <script>
          const silent = new Worker(URL.createObjectURL(new Blob(["onmessage = () => {}"])));
          const ask = () => {
            const { digest } = crypto.subtle;
            out.textContent = `${digest.name} ${digest.length} ${digest}`;
            crypto.subtle.digest("none", new Uint8Array(1));
            try {
              AbortSignal.timeout();
            } catch ({ name }) {
              out.textContent += ` ${name}`;
            }
            digest.call(null).catch(({ name }) => { out.textContent += ` ${name}`; });
          };
          window.task = { goal: "Ask.", reward: () => 0 };
        </script>
    """)
    seen = click(env, seen, "Ask").observation
    native = "digest 2 function () { [native code] }"
    assert f"{native} TypeError TypeError" in texts(seen)
    assert any("a promise was rejected: NotSupportedError" in text for text in env.remarks())


SENDING = """
    <button>Send</button><p id=out></p>
    <script>
      const task = { goal: "Send.", reward: () => 0, api: {
        "POST /now": () => ({}),
        "POST /late": () => new Promise((resolve) => setTimeout(resolve, 9000)),
      } };
      document.querySelector("button").onclick = () => {
        const request = new XMLHttpRequest();
        const note = ({ type, loaded, total, target }) => {
          const up = target === request.upload ? `up ${loaded}/${total} ` : "";
          out.textContent += `${up}${type}, `;
        };
        request.onabort = note;
        for (const type of ["progress", "load"]) request.upload.addEventListener(type, note);
        for (const type of ["timeout", "load", "loadend"]) request.addEventListener(type, note);
        request.open("POST", ADDRESS);
        request.timeout = 1000;
        request.send("abc");
      };
    </script>"""


@pytest.mark.parametrize(
    ("address", "events"),
    [
        ("now", "up 3/3 progress, up 3/3 load, load, loadend"),
        ("late", "timeout, loadend"),
    ],
)
def test_a_request_is_uploaded_and_times_out_by_the_pages_clock(pages, address, events):
    env, seen = pages.show(SENDING.replace("ADDRESS", f"'/{address}'"))
    click(env, seen, "Send")
    assert texts(env.step(Wait(2)).observation) == ["Send", f"{events},"]


def test_what_the_browser_has_measured_took_no_time(pages):
    env, seen = pages.show("""
        <p id=out></p>
        <button onclick="look()">Look</button>
        <script>
          window.task = { goal: "Look.", reward: () => 0, async setup() {
            await fetch("/page.html");
            performance.mark("here", { startTime: 7 });
            const [loading] = performance.getEntriesByType("navigation");
            window.answered = loading.responseEnd; // 0: still loading
          } };
          const look = () => {
            const entries = performance.getEntries();
            const all = entries.flatMap((one) => [one, one.toJSON()]);
            const times = all.flatMap((one) => [one.startTime + one.duration, one.paintTime ?? 0]);
            const told = [
              performance.getEntriesByName("first-paint").length,
              answered,
              [...new Set(times)].sort(),
              [...new Set(all.map(({ navigationId }) => navigationId))],
              performance.timing.loadEventEnd || performance.timing.responseEnd,
              JSON.parse(JSON.stringify(performance.timing)).navigationStart,
              navigator.connection?.downlink,
            ];
            out.textContent = JSON.stringify(told);
          };
        </script>""")
    for _ in range(50):  # until the browser has painted, by real time
        seen = click(env, seen, "Look").observation
        if texts(seen)[0].startswith("[1"):
            break
    assert texts(seen)[0] == "[1,0.1,[0,0.1,7],[1],1600000000000,1600000000000,10]"


def test_all_clocks_and_random_numbers_are_the_pages_also_in_a_worker(pages):
    env, seen = pages.show("""
        <p id="here"></p><p id="there"></p>
        <script>
          const told = () => [
            new Intl.DateTimeFormat("en").format(),
            new Intl.DateTimeFormat("en").formatToParts()[4].value,
            new Date(0).constructor === Date,
            new File([], "a").lastModified,
            performance.timeOrigin,
            performance.mark("a").startTime,
            performance.measure("b", { start: 0 }).duration,
            performance.measure("c", { duration: 5, end: 9 }).startTime,
          ].join();
          here.textContent = told();
          const code = `postMessage((${told})() + " " + crypto.randomUUID())`;
          const worker = new Worker(URL.createObjectURL(new Blob([code])));
          worker.onmessage = ({ data }) => { there.textContent = data; };
          worker.postMessage(null);
          window.task = { goal: "Look.", reward: () => 0 };
        </script>
    """)
    here, there = texts(seen)
    assert here == "9/13/2020,2020,true,1600000000000,1600000000000,0,0,4"
    assert there.startswith(f"{here} ")
    assert texts(env.reset()) == [here, there]


def test_cookies_of_scripts_end_by_the_clock_of_the_page(pages):
    """As js-cookie sets them, for days from now, and as it removes them."""
    body = """
        <button onclick="act()">Go</button><p id="shown"></p>
        <script>
          const task = { goal: "Look.", reward: () => 0 };
          const at = (days) => new Date(Date.now() + 864e5 * days).toUTCString();
          const act = async () => {
            document.cookie = `week=1; expires=${at(7)}; path=/`;
            document.cookie = `longer=1; expires=${at(-1)}; max-age=100`;
            document.cookie = "gone=1";
            document.cookie = `gone=; expires=${at(-1)}`;
            document.cookie = "plain=1; expires=never";
            await cookieStore.set({ name: "stored", value: "1", expires: Date.now() + 864e5 });
            await cookieStore.set({ name: "late", value: "1" });
            await cookieStore.set({ name: "late", value: "1", expires: Date.now() - 864e5 });
            shown.textContent = document.cookie;
          };
        </script>"""
    env, seen = pages.show(body)
    after = click(env, seen, "Go").observation
    assert texts(after)[-1] == "week=1; longer=1; plain=1; stored=1"


def test_what_never_ends_is_waited_for_once_and_remarked(pages):
    env, seen = pages.show("""
        <button onclick="silent.postMessage(1)">Ask</button>
        <script>
          const silent = new Worker(URL.createObjectURL(new Blob(["onmessage = () => {}"])));
          window.task = { goal: "Ask.", reward: () => 0 };
        </script>
    """)
    for _ in range(9):
        seen = click(env, seen, "Ask").observation
    assert list(env.remarks()) == [
        "a worker was started, which runs in real time: a blob",
        "a worker did not end within 5 seconds of real time, and is not waited for",
    ]
