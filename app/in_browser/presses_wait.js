// Presses wait for tables and files.
//
// A table sends what is typed, pasted or dragged in it 150 ms after the last of it, and never if it has left the page by
// then. So a press elsewhere waits until the table has sent: Solve plans what is shown, and a screen that is left keeps
// what was typed in it. A file that is chosen is sent by and by, and is lost in the same way; a press waits for that too.
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
    /^(Tab|Shift|Escape|Home|End|Page.*|Arrow.*)$/.test(event.key) && event.target.closest("#portal") === null;

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

  const repeat = (event) => {
    if (isSent()) event.target.dispatchEvent(new event.constructor(event.type, event));
    else setTimeout(repeat, LOOKED_AT_MS, event);
  };

  const hold = (event) => {
    if (!event.isTrusted || isSent() || isWithin(event.target, UPLOAD)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    repeat(event);
  };

  addEventListener("click", (event) => isIn(event.target) || hold(event), true);
  // Alt and a letter are the page's shortcuts; in a table too, where they come after what was typed.
  addEventListener("keydown", (event) => (event.altKey ? hold(event) : begin(event)), true);
  for (const kind of ["paste", "cut", "pointerup"]) addEventListener(kind, begin, true);
  addEventListener("change", (event) => send(event.target, event.target.files), true);
  addEventListener("drop", (event) => send(event.target, event.dataTransfer?.files), true);
})();
