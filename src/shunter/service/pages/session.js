// Getting in. The token is in the fragment of the link, which no request ever holds, and is traded for a cookie.

const SESSION = "/live/session";

/** Trades the token of the link, if there is one, and takes it out of the address. */
export async function enterByLink() {
  const token = decodeURIComponent(location.hash.slice(1));
  if (token.length < 32) return;
  history.replaceState(null, "", location.pathname);
  await signIn(token);
}

/** Trades a token for a cookie; returns why that did not work, or nothing. */
export async function signIn(token) {
  let answer;
  try {
    answer = await fetch(SESSION, { method: "POST", headers: { authorization: `Bearer ${token.trim()}` } });
  } catch {
    return "The service does not answer.";
  }
  return answer.ok ? "" : answer.status === 401 ? "This is not the token of this service." : `Refused (${answer.status}).`;
}

/** Returns whether the service lets this browser in; null if it does not answer. */
export async function isIn() {
  try {
    const answer = await fetch(SESSION);
    return answer.ok ? true : answer.status === 401 ? false : null;
  } catch {
    return null;
  }
}

/** Asks a source something; returns its panels. */
export async function ask(source, question) {
  let answer;
  try {
    answer = await fetch("/live/ask", {
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
