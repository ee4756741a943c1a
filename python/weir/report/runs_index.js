// Filters and sorts the index of runs, which is whole without this script.
"use strict";
(() => {
  const index = document.querySelector(".index");
  const bar = document.querySelector(".filter");
  const [box, told] = [bar.querySelector("input"), bar.querySelector("output")];
  const folds = [...index.querySelectorAll("details.configuration")].map((fold) => ({
    fold,
    name: fold.querySelector("[data-column=name]"),
    collection: fold.parentElement.closest("details.collection"),
    runs: [...fold.querySelectorAll("tbody tr")].map((row) => ({ row })),
  }));
  const total = folds.reduce((sum, one) => sum + one.runs.length, 0);
  bar.hidden = false;

  // Dates are shown with characters at which no line is broken.
  const plain = (text) => text.replaceAll("\u2011", "-").replaceAll("\u00a0", " ").toLowerCase();
  const words = () => plain(box.value).split(/\s+/).filter(Boolean);
  const show = () => {
    const wanted = words();
    const collections = new Map();
    let shown = 0;
    for (const { fold, name, collection, runs } of folds) {
      let some = 0;
      for (const run of runs) {
        if (wanted.length) {
          const above = collection ? collection.querySelector("[data-column=name]").textContent : "";
          run.text ??= plain(`${above} ${name.textContent} ${run.row.textContent}`);
        }
        run.row.hidden = !wanted.every((word) => run.text.includes(word));
        if (!run.row.hidden) some += 1;
      }
      fold.hidden = !some;
      shown += some;
      if (collection) collections.set(collection, (collections.get(collection) ?? 0) + some);
    }
    for (const [collection, some] of collections) collection.hidden = !some;
    told.textContent = wanted.length ? `${shown} of ${total} runs` : `${total} runs`;
  };
  let waiting = 0;
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 120);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-filter]");
    if (!link) return;
    event.preventDefault();
    box.value = link.dataset.filter === box.value ? "" : link.dataset.filter;
    show();
  });
  for (const button of bar.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => {
      for (const fold of index.querySelectorAll("details.fold")) fold.open = button.dataset.fold === "open";
    });
  }

  const compared = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  const sorted = (parent, items, keyOf, down) => {
    const keyed = [...items].map((item) => [keyOf(item), item]);
    keyed.sort(([a], [b]) => (down ? compared(b, a) : compared(a, b)));
    parent.append(...keyed.map(([, item]) => item));
  };
  // A name is sorted from A to Z first, all else with the largest first.
  const sorts = (heading, byName, sort) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.dataset.order ? heading.dataset.order === "up" : !byName;
      for (const one of heading.parentElement.children) delete one.dataset.order;
      heading.dataset.order = down ? "down" : "up";
      sort(down);
    });
  };
  const head = index.querySelector(".index-head");
  head.removeAttribute("aria-hidden");
  for (const heading of head.children) {
    const column = heading.dataset.column;
    if (column === "over-time") continue;
    const keyOf = (fold) => fold.querySelector(`summary [data-column="${column}"]`)?.dataset.key ?? "-1";
    sorts(heading, column === "name", (down) => {
      for (const parent of [index, ...index.querySelectorAll(".collection > .within")]) {
        sorted(parent, parent.querySelectorAll(":scope > details"), keyOf, down);
      }
    });
  }
  const textOf = (cell) =>
    cell.querySelector("data[value]")?.getAttribute("value") ??
    cell.querySelector("time")?.getAttribute("datetime") ??
    cell.textContent.trim();
  index.addEventListener("toggle", (event) => {
    const table = event.target.classList.contains("configuration") && event.target.querySelector("table");
    if (!table || table.dataset.sorts) return;
    table.dataset.sorts = "yes";
    for (const [place, heading] of [...table.tHead.rows[0].cells].entries()) {
      sorts(heading, false, (down) => {
        sorted(table.tBodies[0], table.tBodies[0].rows, (row) => textOf(row.cells[place]), down);
      });
    }
  }, true);
})();
