import { useState } from "preact/hooks";

/** What the server's words for a refusal mean to a person. */
const reasons: Readonly<Record<string, string>> = {
  no_credential: "This server asks who you are.",
  ticket_invalid: "The link was used before, or is too old: each lets in once, within ten minutes.",
  token_mismatch: "The server does not know this token.",
  token_expired: "The token has run out.",
  credentials_rotated: "The token is not good any more.",
  revoked: "Somebody ended this sign-in.",
  origin_not_allowed: "The server does not let pages of this address in: name it in allowedOrigins.",
  lock_out: "There were too many wrong tokens from here: wait five minutes.",
};

/** Asks for a token, and says how to get in without one. */
export function SignIn({ why, onToken }: { readonly why: string | null; readonly onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
    <main class="sign-in" id="main">
      <h1>roomtap</h1>
      <p role="alert">{why === null ? reasons["no_credential"] : (reasons[why] ?? `Not let in: ${why}.`)}</p>
      <form onSubmit={onSubmit}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit">Sign in</button>
      </form>
      <p class="muted">
        Where <code>roomtap up --port</code> runs, <code>roomtap open</code> prints a link that signs in by itself. A
        token of the config's <code>auth</code> does as well, and <code>ROOMTAP_TOKEN</code> of the server.
      </p>
    </main>
  );
}
