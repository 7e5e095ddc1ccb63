"""The agent of browser-use, over `llm.base_url`, on a page that is handed over to it."""

import os
import tempfile

os.environ |= {
    "ANONYMIZED_TELEMETRY": "false",
    "BROWSER_USE_CLOUD_SYNC": "false",
    "BROWSER_USE_LOGGING_LEVEL": "result",
    "BROWSER_USE_VERSION_CHECK": "false",
}

from browser_use import Agent, BrowserSession, ChatOpenAI, Tools

from pytest_miniwob_agent import DATE, masked

# Yours, as a prompt is what you would change and gate; leave it out for that of browser-use.
SYSTEM = """You work on a web page to reach the user's goal. Elements that you can act on have an
index, as in [7]<button />. Answer with a JSON object: "memory", a sentence on what you see and do
next, and "action", a list of one action, for example
{"memory": "The field is filled in; save it.", "action": [{"click": {"index": 7}}]}.
Call done once the page shows that the goal is reached."""
KEPT = {"click", "done", "dropdown_options", "input", "scroll", "select_dropdown", "send_keys"}
OTHERS = sorted(set(Tools().registry.registry.actions) - KEPT)
AGENT = {"flash_mode": True, "max_actions_per_step": 1, "use_judge": False, "use_vision": False}


class BrowserUse:
    """Runs an agent of browser-use until the page has judged, or the model is done.

    `width` and `height` are those of the window, which would have 1920 by 1080 pixels.
    """

    name = "browser-use"

    def __init__(self, width=480, height=320):
        self.size = {"width": width, "height": height}

    def normalize(self, request):
        """Leave out today's date, which browser-use tells the model."""
        return masked(request, DATE.after("Today:"))

    async def solve(self, env, llm, note):
        """Play one trial."""
        start = env.reset()

        async def stop():
            return page.done

        with env.hand_over() as page, tempfile.TemporaryDirectory() as folder:
            session = BrowserSession(cdp_url=page.cdp_url, viewport=self.size)
            agent = Agent(
                start.goal,
                ChatOpenAI(llm.model, base_url=llm.base_url, api_key="any", max_retries=0),
                browser_session=session,
                enable_signal_handler=False,  # Ctrl-C is pytest's
                file_system_path=folder,
                override_system_message=SYSTEM,
                register_should_stop_callback=stop,
                tools=Tools(exclude_actions=OTHERS),
                **AGENT,
            )
            history = await agent.run()
            await session.stop()
            decided = page.done
        if start.answers and not decided:  # an app takes what it says in the end
            env.answer(history.final_result() or "")
