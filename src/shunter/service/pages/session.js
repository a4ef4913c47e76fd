// Getting in. The token is in the fragment of the link, which no request ever holds, and is traded for a cookie.

const PLACE = "shunter-place";
let place = null;

/** Returns an address of this session: the cookie goes with its place alone. */
export function address(rest) {
  // Where no token is needed, any place will do.
  try { place ??= localStorage.getItem(PLACE); } catch { /* It is known until the page is closed, then. */ }
  return `/live/${place ?? "here"}/${rest}`;
}

/** Trades the token of the link and takes it out of the address; returns whether there was one. */
export async function enterByLink() {
  const token = location.hash.slice(1);
  // Anything shorter leads to a part of the page.
  if (token.length < 32) return false;
  history.replaceState(null, "", location.pathname);
  await signIn(token);
  return true;
}

/** Trades a token for a cookie; returns why that did not work, or nothing. */
export async function signIn(token) {
  let answer;
  try {
    answer = await fetch("/live/session", { method: "POST", headers: { authorization: `Bearer ${token.trim()}` } });
  } catch {
    return "The service does not answer.";
  }
  if (answer.ok) {
    ({ place } = await answer.json());
    try { localStorage.setItem(PLACE, place); } catch { /* As above. */ }
    return "";
  }
  return answer.status === 401 ? "This is not the token of this service." : `Refused (${answer.status}).`;
}

/** Returns whether the service lets this browser in; null if it does not answer. */
export async function isIn() {
  try {
    const answer = await fetch(address("session"));
    return answer.ok ? true : answer.status === 401 ? false : null;
  } catch {
    return null;
  }
}

/** Asks a source something; returns its panels. */
export async function ask(source, question) {
  let answer;
  try {
    answer = await fetch(address("ask"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ source, question }),
    });
  } catch {
    throw new Error("The service does not answer.");
  }
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error?.message || `Refused (${answer.status}).`);
  return told;
}
