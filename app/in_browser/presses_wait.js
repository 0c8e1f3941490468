// Presses wait for tables.
//
// A table sends what is typed, pasted or dragged in it 150 ms after the last of it, and never if it has left the page by
// then. So a press elsewhere waits until the table has sent: Solve plans what is shown, and a screen that is left keeps
// what was typed in it.
(() => {
  if (window.pressesWait) return; // the page is drawn again and again
  window.pressesWait = true;

  const SENT_MS = 400; // Streamlit's 150, and a busy browser that takes a cell in late
  const LOOKED_AT_MS = 20;
  const TABLE = '[data-testid="stDataFrame"], #portal';
  let sentAt = 0;

  const isIn = (target) => target instanceof Element && target.closest(TABLE) !== null;

  // A cell that is not open is only left, or passed, by these keys.
  const passes = (event) =>
    /^(Tab|Shift|Escape|Home|End|Page.*|Arrow.*)$/.test(event.key) && event.target.closest("#portal") === null;

  // A cell takes in what was typed a frame or two after the key.
  const begin = (event) => {
    if (!isIn(event.target) || passes(event)) return;
    sentAt = Infinity;
    requestAnimationFrame(() => requestAnimationFrame(() => (sentAt = performance.now() + SENT_MS)));
  };

  const repeat = (event) => {
    if (performance.now() >= sentAt) event.target.dispatchEvent(new event.constructor(event.type, event));
    else setTimeout(repeat, LOOKED_AT_MS, event);
  };

  const hold = (event) => {
    if (!event.isTrusted || performance.now() >= sentAt) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    repeat(event);
  };

  addEventListener("click", (event) => isIn(event.target) || hold(event), true);
  // Alt and a letter are the page's shortcuts; in a table too, where they come after what was typed.
  addEventListener("keydown", (event) => (event.altKey ? hold(event) : begin(event)), true);
  for (const kind of ["paste", "cut", "pointerup"]) addEventListener(kind, begin, true);
})();
