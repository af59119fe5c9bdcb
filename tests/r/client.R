# What the client does with a server that loses answers, refuses and lies; the address is the first argument.
library(leakcap)
at <- commandArgs(trailingOnly = TRUE)[[1]]
con <- leakcap_connect(at, token = "lkc_0123456789abcdef_secret")
caught <- function(expression, class = "leakcap_error") tryCatch({ expression; NULL }, error = function(e) {
  stopifnot(inherits(e, class))
  invisible(e)
})

# The token is in nothing that prints a connection.
shown <- c(capture.output(print(con)), capture.output(str(con)), capture.output(dput(unclass(con))), format(con))
stopifnot(!any(grepl("secret", shown)))

# Lost twice, then answered, under one key; another call has another key, whatever the seed.
set.seed(1)
one <- leakcap_count(con, "ward", epsilon = 0.1)
set.seed(1)
two <- leakcap_count(con, "ward", epsilon = 0.1)
stopifnot(one$value == 7, is.na(one$lower), one$upper == 9, attr(one, "key") != attr(two, "key"))

# Keys of several kinds, with a key that is not there.
frame <- leakcap_ask(con, "keys", leakcap_query("count", epsilon = 0.1, by = c("a b", "n")))
stopifnot(identical(names(frame), c("a b", "n", "value", "lower", "upper")))
stopifnot(identical(frame[["a b"]], c("x", NA)), identical(frame$n, c(1L, 2L)))

e <- caught(leakcap_count(con, "down", epsilon = 0.1), "leakcap_no_answer")
stopifnot(grepl(e$key, conditionMessage(e), fixed = TRUE))
e <- caught(leakcap_count(con, "full", epsilon = 0.1), "leakcap_budget_exceeded")
stopifnot(e$status == 409L, e$passed$left == 0.5, e$passed$cap == "epsilon", !grepl("\033", conditionMessage(e)))
e <- caught(leakcap_count(con, "waits", epsilon = 0.1), "leakcap_awaiting_approval")
stopifnot(e$job == "j1")

# A job that nobody has to approve is waited for, and what it failed with is said as if it had been at once.
stopifnot(leakcap_count(con, "later", epsilon = 0.1)$value == 5)
e <- caught(leakcap_count(con, "never", epsilon = 0.1), "leakcap_engine")
stopifnot(e$status == 503L, is.character(e$key))
caught(leakcap_count(con, "elsewhere", epsilon = 0.1), "leakcap_data_error")
caught(leakcap_count(con, "page", epsilon = 0.1), "leakcap_data_error")
caught(leakcap_count(con, "broken", epsilon = 0.1), "leakcap_data_error")
caught(leakcap_count(con, "../me", epsilon = 0.1), "leakcap_invalid_parameter")
caught(leakcap_count(con, "ward", epsilon = 0.1, key = "two words"), "leakcap_invalid_parameter")
for (url in c("http://curator.example.org", "https://a@b", "https://a/b", "ftp://a", "https://a\n.b", "http://127.0.0.1.evil.example")) {
  caught(leakcap_connect(url, token = "t"), "leakcap_invalid_parameter")
}
cat("done\n")
