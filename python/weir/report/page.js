// The report is whole without this script. It opens what a link or a printer needs, shows the text
// of a mark beside the pointer, and saves the data of a figure.
"use strict";
(() => {
  const openTo = (target) => {
    for (let box = target; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
    }
  };
  const followAnchor = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    openTo(target);
    target.scrollIntoView();
  };
  addEventListener("hashchange", followAnchor);
  followAnchor();
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) followAnchor();
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:is(.run, .fold):not([open])")];
    for (const run of closed) run.open = true;
  });
  addEventListener("afterprint", () => {
    for (const run of closed) run.open = false;
    closed = [];
  });

  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cellText = (cell) => (cell.querySelector("data[value]")?.getAttribute("value") ?? cell.textContent).trim();
  const asCsv = (data) => {
    const values = [...data.querySelectorAll("pre.csv")].map((block) => block.textContent);
    if (values.length) return values.join("\n");
    return [...data.querySelectorAll("tr")]
      .map((row) => [...row.cells].map((cell) => quoted(cellText(cell))).join(",") + "\n").join("");
  };
  for (const data of document.querySelectorAll("figure > details.data")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = "Save as CSV";
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([asCsv(data)], { type: "text/csv" }));
      link.download = `${data.parentElement.dataset.figure}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    });
    data.querySelector("summary").after(button);
  }

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("data-tip");
    const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
    tip.style.left = `${Math.max(4, right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14)}px`;
    tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
  });
})();
