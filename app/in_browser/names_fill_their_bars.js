// Names fill their bars.
//
// The server does not know how wide the page is. Here each bar of a GPU says the most that it has room for: its service's
// name in full, else cut, else the key that the legend then has before the name; and below it its size. Names and keys
// stand in the picture's data (names_for of charts/gpu_bars.py). Whenever Plotly draws anew, as after a change of width,
// it begins with what the server cut for a narrow page. The picture that Plotly draws out of sight to save it is seen to
// before it is saved.
(() => {
  if (window.namesFill) return; // the page is drawn again and again
  window.namesFill = true;

  const BESIDE_PX = 3;
  const LARGE_PX = 12;
  const SMALL_PX = 10;
  const LINE = 1.3; // heights of a letter from line to line
  const LEAST_LETTERS = 6; // of a name that is cut: fewer say nothing
  const CUT = "…";
  const BREAK = "\x3cbr>"; // Streamlit leaves out a program with tags in it

  const plainOf = new Map();
  // All texts of a picture are escaped, as Plotly takes them for HTML.
  const plain = (escaped) => {
    if (!plainOf.has(escaped)) {
      plainOf.set(escaped, new DOMParser().parseFromString(escaped, "text/html").documentElement.textContent);
    }
    return plainOf.get(escaped);
  };

  const ruler = document.createElement("canvas").getContext("2d");
  const widthOf = (text, px, family) => {
    ruler.font = `${px}px ${family}`;
    return ruler.measureText(text).width;
  };

  const cutTo = (name, room, family) => {
    const letters = [...new Intl.Segmenter().segment(name)].map((one) => one.segment);
    for (let kept = letters.length - 1; kept >= LEAST_LETTERS; kept -= 1) {
      const text = letters.slice(0, kept).join("").replace(/[- ]+$/, "") + CUT;
      if (widthOf(text, SMALL_PX, family) <= room) return text;
    }
    return null;
  };

  // Gives the first line of a bar, its size, and whether it is the key.
  const lineFor = (name, key, room, family) => {
    for (let px = LARGE_PX; px >= SMALL_PX; px -= 1) {
      if (widthOf(name, px, family) <= room) return [name, px, false];
    }
    const cut = cutTo(name, room, family);
    if (cut !== null) return [cut, SMALL_PX, false];
    for (let px = LARGE_PX; px >= SMALL_PX - 1; px -= 1) {
      if (key && widthOf(key, px, family) <= room + BESIDE_PX) return [key, px, true];
    }
    return ["", SMALL_PX, false];
  };

  const write = (text, box, lines, px) => {
    text.style.display = lines.length ? "" : "none";
    text.style.fontSize = `${px}px`;
    const first = box.y + box.height / 2 + px * (0.36 - (LINE * (lines.length - 1)) / 2);
    text.setAttribute("transform", `translate(${box.x + box.width / 2},${first})`);
    text.replaceChildren(
      ...lines.map((line, index) => {
        const span = document.createElementNS("http://www.w3.org/2000/svg", "tspan");
        span.setAttribute("class", "line");
        span.setAttribute("x", "0");
        span.setAttribute("y", "0");
        span.setAttribute("dy", `${index * LINE}em`);
        span.textContent = line;
        return span;
      }),
    );
  };

  // Fits the texts of a picture to its bars, and tells whether a key is among them.
  const fill = (picture) => {
    const found = [];
    for (const group of picture.querySelectorAll(".trace.bars")) {
      const trace = group.__data__?.[0]?.trace;
      if (trace?.meta !== "names") continue;
      for (const point of group.querySelectorAll(".point")) {
        const [text, bar] = [point.querySelector("text"), point.querySelector("path")];
        const [name, key] = trace.customdata[point.__data__?.i] ?? [];
        if (text !== null && bar !== null && name) found.push([text, bar.getBBox(), name, key]);
      }
    }
    if (!found.length) return false;
    const family = getComputedStyle(found[0][0]).fontFamily;
    let hasKey = false;
    for (const [text, box, name, key] of found) {
      const room = box.width - 2 * BESIDE_PX;
      const [line, px, isKey] = lineFor(plain(name), plain(key), room, family);
      const [, size = ""] = (text.dataset.unformatted ?? "").split(BREAK);
      const lines = [line, plain(size)].filter((one) => one && widthOf(one, px, family) <= room + BESIDE_PX);
      write(text, box, lines.slice(0, box.height >= LINE * px * 2 ? 2 : 1), px);
      hasKey ||= isKey;
    }
    return hasKey;
  };

  const fillAll = (pictures) => {
    for (const picture of pictures) {
      const hasKey = fill(picture);
      const place = picture.closest("[class*='st-key-']")?.className.match(/st-key-([\w-]+)/)?.[1];
      if (place) document.querySelector(`.swatches.of-${place}`)?.classList.toggle("with_keys", hasKey);
    }
    seen.takeRecords(); // of what was done here
  };

  let isAsked = false;
  const ask = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      fillAll(document.querySelectorAll(".js-plotly-plot"));
    });
  };

  const isOfAPicture = ({ target }) =>
    target instanceof Element && target.closest(".js-plotly-plot, [data-testid='stHtml']") !== null;
  const seen = new MutationObserver((changes) => {
    const toBeSaved = document.querySelectorAll("body > .js-plotly-plot");
    if (toBeSaved.length) fillAll(toBeSaved); // now, as it is saved at once
    if (changes.some(isOfAPicture)) ask();
  });
  seen.observe(document.body, { childList: true, subtree: true });
})();
