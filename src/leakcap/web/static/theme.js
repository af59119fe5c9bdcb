// Before anything is drawn: the theme that the reader chose last, where they chose one.
"use strict";
try {
  const theme = localStorage.getItem("leakcap-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* no storage: the system's theme it is */ }
