// Draws the pictures with sliders, in the colours of the reader's theme, and again when that changes.
(function () {
  function colours() {
    const dark = document.body.getAttribute("data-md-color-scheme") === "slate";
    return dark
      ? { ink: "#e6eaf0", soft: "#aab4c2", line: "#4a5565", accent: "#8ab8f2", warm: "#f2a66b", wash: "#24405f" }
      : { ink: "#1c2430", soft: "#5b6675", line: "#c5ccd6", accent: "#1f5fa8", warm: "#a8430b", wash: "#dbe7f5" };
  }
  function draw() {
    const known = colours();
    document.querySelectorAll("figure.played").forEach(function (figure) {
      const text = figure.querySelector("script").textContent.replace(/"colour:(\w+)"/g, function (_, name) {
        return JSON.stringify(known[name]);
      });
      const spec = JSON.parse(text);
      const plot = figure.querySelector(".plot");
      const room = Math.min(460, figure.clientWidth - 90);
      if (spec.width > room) spec.width = room;
      vegaEmbed(plot, spec, { actions: false, renderer: "svg" });
    });
  }
  draw();
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
})();
