/** The state of a heartbeat. */
import { Mark } from '../../components/mark.tsx';
import { texts } from '../../texts/heartbeats.ts';

const colors: Record<string, string> = { up: 'teal', late: 'yellow', down: 'red' };

export function HeartbeatState({ state, reason }: { state: string; reason: string | null }) {
  return (
    <Mark color={colors[state] ?? 'gray'} meaning={texts.stateMeanings[state]}>
      {(reason && texts.reasons[reason]) ?? texts.states[state] ?? state}
    </Mark>
  );
}
