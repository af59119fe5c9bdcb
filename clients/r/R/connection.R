# The way to a curator: its address, and a token that nothing prints.

leakcap_connect <- function(url, token = NULL, seconds = 120, certificate = NULL) {
  url <- checked_address(url)
  if (is.null(token)) token <- known_token(url)
  certificate <- checked_certificate(certificate, url)
  if (!is.null(token)) check_token(token)
  if (!is.numeric(seconds) || length(seconds) != 1L || is.na(seconds) || seconds <= 0 || seconds > 3600) {
    refuse("`seconds` of `leakcap_connect` must be above 0 and at most 3,600.")
  }
  # The token lives in an environment's function: str(), dput() and print() of the connection do not reach it.
  structure(list(url = url, seconds = seconds, certificate = certificate,
                 token = local({ kept <- token; function() kept })),
            class = "leakcap_connection")
}

leakcap_login <- function(url, name, password = NULL, seconds = 120, certificate = NULL) {
  url <- checked_address(url)
  certificate <- checked_certificate(certificate, url)
  if (is.null(password)) password <- asked_password(name)
  guest <- structure(list(url = url, seconds = seconds, certificate = certificate, token = function() NULL),
                     class = "leakcap_connection")
  issued <- asked(guest, "POST", "/v1/session", list(name = name, password = password), once = TRUE)
  leakcap_connect(url, issued$token, seconds = seconds, certificate = certificate)
}

leakcap_logout <- function(connection) {
  asked(connection, "DELETE", "/v1/session", once = TRUE)
  invisible(NULL)
}

format.leakcap_connection <- function(x, ...) sprintf("<leakcap connection to %s>", x$url)

print.leakcap_connection <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

asked_password <- function(name) {
  if (!requireNamespace("askpass", quietly = TRUE)) {
    refuse("`password` is missing, and the package askpass, which asks for one, is not installed.")
  }
  found <- askpass::askpass(sprintf("Password of %s: ", name))
  if (is.null(found)) refuse("No password was given.")
  found
}

# https, or http to this machine alone; nothing but scheme, host and port.
checked_address <- function(url) {
  fine <- is.character(url) && length(url) == 1L && !is.na(url)
  found <- if (fine) {
    regmatches(url, regexec("^(https?)://(\\[[0-9a-fA-F:.]+\\]|[0-9A-Za-z._-]+)(:[0-9]{1,5})?/?$", url))[[1]]
  }
  if (length(found) == 0L) {
    refuse("`url` must be an address such as https://curator.example.org, without a path or a name in it.")
  }
  near <- grepl("^(localhost|127\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}|\\[::1\\])$", found[3])
  if (found[2] == "http" && !near) {
    refuse("`url` must begin with https://: tokens and answers would cross the network in the open.")
  }
  sub("/$", "", url)
}

# A file with a certificate of one's own and its key; that of LEAKCAP_CERTIFICATE where LEAKCAP_SERVER names
# this address. It is shown at no other address than its own.
checked_certificate <- function(file, url) {
  if (is.null(file)) {
    file <- Sys.getenv("LEAKCAP_CERTIFICATE")
    if (!nzchar(file) || !identical(sub("/$", "", Sys.getenv("LEAKCAP_SERVER")), url)) return(NULL)
  }
  if (!is.character(file) || length(file) != 1L || is.na(file) || !utils::file_test("-f", file)) {
    refuse("`certificate` must be a PEM file with a certificate and its key.")
  }
  require_private(file, "Run `chmod 600` on it: it holds a key.")
  normalizePath(file)
}

require_private <- function(file, remedy) {
  mode <- file.info(file)$mode
  if (.Platform$OS.type == "unix" && bitwAnd(as.integer(mode), strtoi("077", 8L)) != 0L) {
    refuse(sprintf("`%s` may be opened by others. %s", file, remedy))
  }
}

check_token <- function(token) {
  fine <- is.character(token) && length(token) == 1L && !is.na(token) && nchar(token) <= 8192L &&
    grepl("^[!-~]+$", token, perl = TRUE)
  if (!fine) refuse("`token` must be printable ASCII without spaces.")
}

# That of LEAKCAP_TOKEN where LEAKCAP_SERVER names this address, else the one that `leakcap login` kept.
known_token <- function(url) {
  given <- Sys.getenv("LEAKCAP_TOKEN")
  if (nzchar(given) && identical(sub("/$", "", Sys.getenv("LEAKCAP_SERVER")), url)) return(given)
  config <- Sys.getenv("XDG_CONFIG_HOME")
  if (!startsWith(config, "/")) config <- path.expand("~/.config")
  file <- file.path(config, "leakcap", "credentials.json")
  if (!file.exists(file)) return(NULL)
  require_private(file, "Run `chmod 600` on it, and sign in again.")
  kept <- tryCatch(jsonlite::fromJSON(file, simplifyVector = FALSE), error = function(e) list())
  if (is.list(kept) && is.list(kept[[url]])) kept[[url]]$token
}
