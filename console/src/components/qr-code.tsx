/** A QR code: black on white in either color scheme, because cameras read that best. */
import { generate } from 'lean-qr';

/** Width of the white margin in modules, as the standard requires. */
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
