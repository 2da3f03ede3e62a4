/** What a trigger would send or has sent, and why it sends nothing. */
import { reasons, type Simulation } from '../api-types.ts';
import { countOf } from '../texts/count-of.ts';
import { texts } from '../texts/events.ts';

type Reach = Pick<Simulation, 'complete'> & {
  notifications: Pick<Simulation['notifications'][number], 'reason' | 'deliveries' | 'suppressed'>[];
};

/** Describes how many messages a trigger will send. */
export function describeReach({ notifications, complete }: Reach): string {
  const messages = notifications.reduce((sum, { deliveries }) => sum + deliveries, 0);
  if (messages === 0) {
    const codes = notifications.flatMap(({ reason, suppressed }) => reason ?? Object.keys(suppressed));
    return texts.noMessagesWillBeSent(whyNothing(codes));
  }
  return texts.messagesWillBeSent(countOf(messages, 'message', { isAtLeast: !complete }), messages === 1 && complete);
}

/** Explains why there are no messages, from the reasons of the notifications; without any, there are no recipients. */
export function whyNothing(codes: readonly (string | null)[]): string {
  const known = [...new Set(codes.map(code => code ?? 'no_recipients'))];
  return (known.length > 0 ? known : ['no_recipients']).map(code => reasons[code] ?? code).join('; ');
}
