// Dialogs have the focus.
//
// A dialog that a repeated press (presses_wait.js) opens finds the focus nowhere, and leaves it there: keys would go past
// it.
(() => {
  if (window.dialogsHaveFocus) return; // the page is drawn again and again
  window.dialogsHaveFocus = true;

  const ENTERED_MS = 100; // a dialog that takes the focus by itself has it by then

  const enter = () => {
    const dialog = document.querySelector('[role="dialog"]');
    if (dialog !== null && document.activeElement === document.body) dialog.focus();
  };
  const enterSoon = () => setTimeout(enter, ENTERED_MS);

  addEventListener("focusout", enterSoon, true);
  new MutationObserver(enterSoon).observe(document.body, { childList: true });
})();
