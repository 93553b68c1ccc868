import type { ComponentChildren } from "preact";

/** A place without content, that says why and what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Something that went wrong, and stays to be read. */
export function Problem({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="problem" role="alert">
      {children}
    </p>
  );
}

/** A word with the colour of its meaning; the word itself says it too. */
export function Chip({ word, kind = word }: { readonly word: string; readonly kind?: string }) {
  return <span class={`chip ${kind}`}>{word.replaceAll("_", " ")}</span>;
}

/** What an agent or a person wrote, or JSON: shown as it is. */
export function Block({ label, value }: { readonly label: string; readonly value: unknown }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <figure class="block">
      <figcaption>{label}</figcaption>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </figure>
  );
}

/** The head of a table. */
export function Heads({ names }: { readonly names: readonly string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
