/** Severities and states of incidents and alerts. */
import { Mark } from '../../components/mark.tsx';
import { texts } from '../../texts/incidents.ts';

const severityColors: Record<string, string> = { critical: 'red', error: 'orange', warning: 'yellow', info: 'blue' };
const stateColors: Record<string, string> = { open: 'red', acknowledged: 'blue', resolved: 'teal' };

export function SeverityMark({ severity }: { severity: string | null }) {
  if (severity === null) return null;
  return <Mark color={severityColors[severity] ?? 'gray'}>{texts.severities[severity] ?? severity}</Mark>;
}

export function AlertState({ state }: { state: string }) {
  return <Mark color={stateColors[state] ?? 'gray'}>{texts.states[state] ?? state}</Mark>;
}

/** Returns a time span in one or two units, such as "3 min" or "2 h 5 min". */
export function formatSpan(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const units: [number, string][] = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const first = units.findIndex(([size]) => whole >= size);
  if (first === -1) return '0 s';
  const [size, name] = units[first]!;
  const next = units[first + 1];
  const rest = next ? Math.floor((whole % size) / next[0]) : 0;
  return `${Math.floor(whole / size)} ${name}${next && rest > 0 ? ` ${rest} ${next[1]}` : ''}`;
}

export function formatBetween(from: string, until: string): string {
  return formatSpan((Date.parse(until) - Date.parse(from)) / 1_000);
}
