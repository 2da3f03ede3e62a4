/** What services and mail servers reported about a message after it was sent. */
import { useQuery } from '@tanstack/react-query';
import { RecordTable } from '../../components/record-table.tsx';
import { plainState, type State } from '../../components/statuses.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';

const states: Record<string, State> = {
  delivered: { name: texts.delivered, color: 'teal', meaning: '' },
  permanent: { name: texts.bouncedForGood, color: 'red', meaning: '' },
  bounced: { name: texts.bounced, color: 'red', meaning: '' },
  deferred: { name: texts.deferred, color: 'yellow', meaning: '' },
  complained: { name: texts.complained, color: 'red', meaning: '' },
  unsubscribed: { name: texts.unsubscribed, color: 'gray', meaning: '' },
  opened: { name: texts.opened, color: 'blue', meaning: '' },
  clicked: { name: texts.clicked, color: 'blue', meaning: '' },
};

interface FeedbackProps {
  org: string;
  identifier: string;
  delivery: number;
  status: string;
  enabled: boolean;
}

export function Feedback({ status, enabled, ...path }: FeedbackProps) {
  const feedback = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/feedback/', { path }, status),
    enabled,
  });
  if (!feedback.data?.length) return null;
  return (
    <RecordTable
      title={texts.afterSending}
      headings={[texts.feedbackAt, texts.feedbackSource, texts.feedbackEvent]}
      rows={feedback.data.map(({ id, at, source, type, permanent, detail }) => ({
        key: id,
        at,
        cause: source,
        state: states[permanent ? 'permanent' : type] ?? plainState(type),
        detail,
      }))}
    />
  );
}
