/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
import { secretPartsOf, secretUrl, TimeoutMs } from '../../fields.ts';
import { requestSender } from '../../http-outcome.ts';
import { type Provider, settings } from '../../provider.ts';
import { toMessage } from './message.ts';

const Settings = settings({
  url: secretUrl(
    'The webhook URL, https://hooks.slack.com/services/…. Compatible services such as Mattermost work too.',
  ),
  timeout_ms: TimeoutMs,
});

/** The webhook was removed, or its URL is not one. */
const deniedErrors = new Set(['invalid_token', 'no_service', 'no_active_hooks', 'no_team']);

export const slackWebhook: Provider<typeof Settings> = {
  name: 'slack-webhook',
  title: 'Slack incoming webhook',
  medium: 'slack',
  summary: 'Posts to one Slack channel.',
  settings: Settings,
  credential: { name: 'webhook URL', hint: 'create one under Incoming Webhooks of your app at api.slack.com/apps' },
  shows: ['formatting'],
  reach: () => 'room',
  open: requestSender(({ content }, { url }) => {
    // The response is "ok", or an error code with a matching status.
    return {
      url,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      json: toMessage(content),
      secrets: secretPartsOf(url),
      classify: ({ text }) => (deniedErrors.has(text.trim()) ? { retry: false, denied: true } : undefined),
    };
  }),
};
