// The console's own script: completion in SQL, and a job that is looked at until it ends. No number is computed
// here, and all pages work without it.
"use strict";
(() => {
  // A word of the list goes where the cursor was.
  const insert = (button) => {
    const area = document.getElementById(button.dataset.insert);
    const word = document.getElementById("word");
    if (!word.value) return word.focus();
    const before = area.value.slice(0, area.selectionStart);
    const space = before === "" || /[\s(]$/.test(before) ? "" : " ";
    area.setRangeText(space + word.value + " ", area.selectionStart, area.selectionEnd, "end");
    word.value = "";
    area.focus();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-insert]");
    if (button) insert(button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.id !== "word") return;
    event.preventDefault();
    insert(document.querySelector("button[data-insert]"));
  });

  // A job, until it ends.
  const look = async () => {
    const shown = document.getElementById("job");
    if (!shown || !("unfinished" in shown.dataset)) return;
    const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
    if (answer && answer.ok && !answer.redirected) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("job");
      if (fresh && !("unfinished" in fresh.dataset)) return location.reload();
      if (fresh && fresh.innerHTML !== shown.innerHTML) shown.replaceChildren(...fresh.childNodes);
    }
    setTimeout(look, 2000);
  };
  document.addEventListener("DOMContentLoaded", () => {
    for (const row of document.querySelectorAll(".complete")) row.hidden = false;
    document.getElementById("preview")?.focus();
    const here = document.querySelector(".bar nav [aria-current]");
    if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;
    setTimeout(look, 2000);
  });
})();
