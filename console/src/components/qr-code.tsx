/** A text for a phone to scan: black on white in either colour scheme, for that is what cameras read best. */
import { generate } from 'lean-qr';

/** Modules of white around it, as the standard asks for. */
const margin = 4;

export function QrCode({ value, label, size = 184 }: { value: string; label: string; size?: number }) {
  const code = generate(value);
  const cells: string[] = [];
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) cells.push(`M${x + margin} ${y + margin}h1v1h-1z`);
  }
  const side = code.size + 2 * margin;
  return (
    <svg
      viewBox={`0 0 ${side} ${side}`}
      width={size}
      height={size}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
      className="qr"
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={cells.join('')} fill="#000" />
    </svg>
  );
}
