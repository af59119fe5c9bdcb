// What scrolls can be reached by the keyboard.
window.addEventListener("load", function () {
  document.querySelectorAll(".md-typeset__scrollwrap, math[display=block], .formula, .highlight pre, figure.played .plot").forEach(
    function (part) { if (part.scrollWidth > part.clientWidth) part.setAttribute("tabindex", "0"); });
});
