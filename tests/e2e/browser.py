# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium for tests, by the DevTools protocol over a pipe; nothing but Python's own library.

    with browser.Page("file:///tmp/x.html", width=1200, height=800) as page:
        page.js("document.title")           the value of an expression; a promise is awaited
        page.click(100, 200)                with the mouse; also move(), tap()
        page.key("ArrowDown"), page.type("text")
        page.screenshot("/tmp/x.png")
        assert page.requests == ["file:///tmp/x.html"] and not page.complaints

What the page asked the network for is in page.requests, what the console or an uncaught exception said
in page.complaints. The browser runs with a profile of its own that is thrown away, and has no network:
every name resolves to nothing.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions", "--hide-scrollbars",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"]
SECONDS = 120  # without an answer it hangs
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, None), "Backspace": ("Backspace", 8, None),
        "ArrowUp": ("ArrowUp", 38, None), "ArrowDown": ("ArrowDown", 40, None), "Home": ("Home", 36, None),
        "ArrowLeft": ("ArrowLeft", 37, None), "ArrowRight": ("ArrowRight", 39, None),
        "Tab": ("Tab", 9, None)}


def path():
    """Where Chromium is; None: not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """The process, and messages to and from it: JSON texts that end in a NUL."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cprof-browser-")
        commands, self.to = os.pipe()
        self.replies, answers = os.pipe()
        self.process = subprocess.Popen(
            # The protocol wants descriptors 3 and 4; dup2 in a shell needs no preexec_fn.
            ["/bin/sh", "-c", f'exec 3<&{commands} 4>&{answers} && exec "$@"', "sh", path(), *FLAGS,
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(commands, answers), env={**os.environ, "HOME": self.folder})
        os.close(commands)
        os.close(answers)
        self.text = b""
        self.number = 0
        self.on_event = lambda method, parameters: None

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.replies)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        """The next message; None: none came in time."""
        while b"\0" not in self.text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.replies], [], [], left)[0]:
                return None
            data = os.read(self.replies, 1 << 20)
            if not data:
                raise AssertionError("the browser has gone")
            self.text += data
        message, self.text = self.text.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + SECONDS
        while (reply := self.receive(deadline)) is not None:
            if reply.get("id") == self.number:
                assert "error" not in reply, f"{method}: {reply['error']}"
                return reply["result"]
            if "method" in reply:
                self.on_event(reply["method"], reply["params"])
        raise AssertionError(f"{method}: no answer within {SECONDS} s")

    def listen(self, seconds):
        """Takes what comes within that time."""
        deadline = time.monotonic() + seconds
        while (message := self.receive(deadline)) is not None:
            if "method" in message:
                self.on_event(message["method"], message["params"])


class Page:
    """One page in a browser of its own."""

    def __init__(self, url, width=1280, height=800, dark=False, touch=False, reduced_motion=True):
        self.requests, self.complaints = [], []
        self.loaded = False
        self.browser = Browser()
        try:
            self.open(url, width, height, dark, touch, reduced_motion)
        except BaseException:
            self.browser.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

    def open(self, url, width, height, dark, touch, reduced_motion):
        self.browser.on_event = self.event
        target = self.browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        features = [("prefers-color-scheme", "dark" if dark else "light"),
                    ("prefers-reduced-motion", "reduce" if reduced_motion else "no-preference")]
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": name, "value": value} for name, value in features])
        start = time.monotonic()
        self.call("Page.navigate", url=url)
        while not self.loaded and time.monotonic() < start + SECONDS:
            self.browser.listen(0.02)
        assert self.loaded, f"{url} was not loaded within {SECONDS} s"
        self.seconds_to_load = time.monotonic() - start

    def event(self, method, parameters):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(word.get("value")) for word in parameters["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def js(self, expression):
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
                          userGesture=True)
        assert "exceptionDetails" not in reply, f"{expression}: {reply['exceptionDetails']}"
        return reply["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)

    def click(self, x, y, times=1):
        self.move(x, y)
        for time_of in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=time_of)

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key):
        name, code, text = KEYS.get(key, (key, ord(key[0].upper()), key))
        more = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def settle(self):
        """Until what was begun has been drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self, to):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(to, "wb") as file:
            file.write(base64.b64decode(data))
