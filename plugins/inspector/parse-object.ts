/** The object that a text is as JSON; null when it is none. */
export function parseObject(text: string): { readonly [key: string]: unknown } | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as { readonly [key: string]: unknown }) : null;
  } catch {
    // No JSON at all.
    return null;
  }
}
