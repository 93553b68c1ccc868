/**
 * A copy of some bytes with memory of its own. A view goes over a port with the whole buffer that it lies in, and the `slice`
 * of a `Buffer` is such a view.
 */
export function ownBytes({ buffer, byteOffset, byteLength }: ArrayBufferView, most = byteLength): Uint8Array {
  return new Uint8Array(buffer, byteOffset, Math.min(most, byteLength)).slice();
}
