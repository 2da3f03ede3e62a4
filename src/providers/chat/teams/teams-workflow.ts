/** Posts to a workflow that starts with "When a Teams webhook request is received" and posts the card it receives. */
import { secretPartsOf, secretUrl, TimeoutMs } from '../../fields.ts';
import { type Failure, field, type ProviderAnswer, sendHttp } from '../../http-outcome.ts';
import { type Provider, settings } from '../../provider.ts';
import { httpSender } from '../../sending.ts';
import { toCardMessage } from './card.ts';

const Settings = settings({
  url: secretUrl(
    'The URL that Teams shows when the workflow is created. The workflow decides where it posts, and as whom.',
  ),
  timeout_ms: TimeoutMs,
});

export const teamsWorkflow: Provider<typeof Settings> = {
  name: 'teams-workflow',
  title: 'Teams workflow',
  medium: 'teams',
  summary: 'Posts to a chat or channel of Microsoft Teams.',
  settings: Settings,
  credential: {
    name: 'webhook URL',
    hint: 'copy it from the trigger of the workflow, which anyone must be allowed to call',
  },
  shows: ['formatting'],
  reach: () => 'room',
  open({ url, timeout_ms }, { outbound }) {
    const secrets = secretPartsOf(url);
    return httpSender(async ({ content }) => {
      // The workflow accepts a larger card, and then fails without reporting it.
      const body = toCardMessage(content);
      if (!body) return { ok: false, retry: false, reason: 'the card is larger than 28 KB, the limit of Teams' };
      return sendHttp(outbound, {
        url,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body,
        timeoutMs: timeout_ms,
        secrets,
        errorText: field('error', 'message'),
        classify,
      });
    });
  },
};

/**
 * The workflow was deleted, or its URL is not one (WorkflowNotFound and other codes with a 404), or the URL may not call it: its
 * signature is wrong, or only users of the tenant may.
 */
function classify({ status }: ProviderAnswer): Partial<Failure> | undefined {
  return status === 401 || status === 403 || status === 404 ? { retry: false, denied: true } : undefined;
}
