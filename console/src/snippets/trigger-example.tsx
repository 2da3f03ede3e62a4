/** Code samples for one event, with what its notifications need. */
import { useQuery } from '@tanstack/react-query';
import { type EventPath, useSample } from '../events/sample.ts';
import { findSample } from '../events/samples.ts';
import { read } from '../queries.ts';
import { useCan, useSession } from '../session.tsx';
import { TriggerSnippets, triggerUrl } from './trigger-snippets.tsx';

/** A trigger that works as it is pasted: with the event's own context, and with a recipient where the trigger names them. */
export function TriggerExample({ path, apiKey }: { path: EventPath; apiKey: string }) {
  const { evt } = path;
  const can = useCan();
  const { account } = useSession();
  const sample = useSample(path);
  const notifications = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/', { path }),
    enabled: can('notification:read'),
  });
  // Without the right to read them, a recipient that no notification asks for does no harm.
  const takesRecipients = notifications.data?.some(one => one.recipients.trigger) ?? true;
  const context = Object.keys(sample.context ?? {}).length > 0 ? sample.context : findSample(evt)?.context;
  return (
    <TriggerSnippets
      url={triggerUrl(path)}
      apiKey={apiKey}
      body={{
        context: context ?? {},
        options: { ...(takesRecipients && { recipients: [account.email.toLowerCase()] }), dry_run: true },
      }}
    />
  );
}
