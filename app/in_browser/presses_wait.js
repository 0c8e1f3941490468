// Presses wait for tables, files and steps back.
//
// A table sends what is typed, pasted or dragged in it 150 ms after the last of it, and never if it has left the page by
// then. So a press elsewhere waits until the table has sent: Solve plans what is shown, and a screen that is left keeps
// what was typed in it. A file that is chosen is sent by and by, and is lost in the same way; a press waits for that too.
//
// Undo and Redo each go one step for each press. Streamlit keeps of presses that reach it while its script runs only that
// there was one, and calls what two buttons do in an order of its own. So a press after one of these waits until the page
// shows the step: tables of another number (screens/workloads/editors.py).
(() => {
  if (window.pressesWait) return; // the page is drawn again and again
  window.pressesWait = true;

  const SENT_MS = 400; // Streamlit's 150, and a busy browser that takes a cell in late
  const LOOKED_AT_MS = 20;
  const TABLE = '[data-testid="stDataFrame"], #portal';
  let sentAt = 0;

  const isWithin = (target, selector) => target instanceof Element && target.closest(selector) !== null;
  const isIn = (target) => isWithin(target, TABLE);

  // A cell that is not open is only left, or passed, by these keys.
  const passes = (event) =>
    /^(Tab|Shift|Alt|Escape|Home|End|Page.*|Arrow.*)$/.test(event.key) && event.target.closest("#portal") === null;

  // A cell takes in what was typed a frame or two after the key.
  const begin = (event) => {
    if (!isIn(event.target) || passes(event)) return;
    sentAt = Infinity;
    requestAnimationFrame(() => requestAnimationFrame(() => (sentAt = performance.now() + SENT_MS)));
  };

  const FILE_MS = 200; // until the page is told of a file that is there
  const FILE_GIVEN_UP_MS = 30000;
  const UPLOAD = '[data-testid="stFileUploader"]';
  const ON_THE_WAY = '[data-testid="stFileChipIconSpinner"]';
  let isFileAwaited = false;
  let fileAt, givenUpAt;

  const refused = () => document.querySelectorAll('[data-testid="stFileChipIconError"]').length;
  let refusedBefore = 0;

  const send = (target, files) => {
    if (!isWithin(target, UPLOAD) || !files?.length) return;
    isFileAwaited = true;
    fileAt = givenUpAt = performance.now() + FILE_GIVEN_UP_MS;
    refusedBefore = refused();
  };

  new PerformanceObserver((list) => {
    if (!isFileAwaited || !list.getEntries().some((entry) => entry.name.includes("/upload_file/"))) return;
    fileAt = performance.now() + FILE_MS;
  }).observe({ type: "resource" });

  const isSent = () => {
    if (isFileAwaited && refused() > refusedBefore) isFileAwaited = false;
    if (!isFileAwaited) return performance.now() >= sentAt;
    // The file that another takes the place of is let go of first, which looks like one that has come.
    const isOnTheWay = performance.now() < fileAt || document.querySelector(ON_THE_WAY) !== null;
    isFileAwaited = isOnTheWay && performance.now() < givenUpAt;
    return !isFileAwaited && performance.now() >= sentAt;
  };

  const DRAWN_MS = 1_000; // until a busy server has begun to draw what a table sent
  const SHOWN_GIVEN_UP_MS = 10_000; // there was nothing to go back to, or it was not sent
  const STEPS = ".st-key-undo, .st-key-redo";
  const STEP_OF_KEY = { 90: ".st-key-undo", 89: ".st-key-redo" }; // Z and Y of any keyboard, as Streamlit has them
  let before = null; // the tables as they were at a step that is not shown yet
  let shownAt;

  const buttonOf = (event) => {
    if (event.type !== "keydown") return isWithin(event.target, STEPS) ? event.target.closest("button") : null;
    const isAlone = event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    return isAlone ? document.querySelector(`${STEP_OF_KEY[event.keyCode] ?? "no-step"} button`) : null;
  };
  const tables = () => {
    const table = document.querySelector('.st-key-marked_workloads [class*="st-key-workloads_"]');
    return table && /st-key-workloads_\d+/.exec(table.className)?.[0]; // what else it is of changes as it is drawn
  };
  const isRunning = () => {
    const { testConnectionState, testScriptState } = document.querySelector("[data-test-script-state]")?.dataset ?? {};
    return testConnectionState === "CONNECTED" && testScriptState !== "notRunning";
  };

  const isShown = () => {
    if (before === null) return true;
    if (isRunning()) shownAt = performance.now() + SHOWN_GIVEN_UP_MS;
    if (tables() !== before || performance.now() >= shownAt) before = null;
    return before === null;
  };

  const noteStep = (event) => {
    const button = buttonOf(event);
    if (button === null || button.disabled) return;
    before = tables();
    shownAt = performance.now() + SHOWN_GIVEN_UP_MS;
  };

  // What was typed is drawn before there is a way back from it.
  const isDrawn = (event) => {
    if (event.type !== "keydown" || !buttonOf(event)?.disabled) return true;
    return !isRunning() && performance.now() >= sentAt + DRAWN_MS;
  };

  const isFree = (event) => isSent() && isShown() && isDrawn(event);

  // A shortcut presses the button: a table that had the focus may be gone, and Streamlit learns late what is enabled.
  const repeat = (event) => {
    noteStep(event);
    if (event.type === "keydown") buttonOf(event)?.click();
    else event.target.dispatchEvent(new event.constructor(event.type, event));
  };

  const waiting = [];

  const passOn = () => {
    while (waiting.length > 0 && isFree(waiting[0])) repeat(waiting.shift());
    if (waiting.length > 0) setTimeout(passOn, LOOKED_AT_MS);
  };

  const hold = (event) => {
    if (!event.isTrusted || isWithin(event.target, UPLOAD)) return;
    if (event.type === "click" && waiting.length === 0 && isFree(event)) {
      noteStep(event);
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.repeat && !(waiting.length === 0 && isFree(event))) return; // a held key goes as far as the page follows
    waiting.push(event);
    if (waiting.length === 1) passOn();
  };

  addEventListener("click", (event) => isIn(event.target) || hold(event), true);
  // The page's shortcuts are that in a table too, where they come after what was typed; Alt and others type signs.
  addEventListener("keydown", (event) => (buttonOf(event) !== null ? hold(event) : begin(event)), true);
  for (const kind of ["paste", "cut", "pointerup"]) addEventListener(kind, begin, true);
  addEventListener("change", (event) => send(event.target, event.target.files), true);
  addEventListener("drop", (event) => send(event.target, event.dataTransfer?.files), true);
})();
