/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
import { partsOfUrl, secretUrl, TimeoutMs } from '../fields.ts';
import { sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';
import { toMessage } from './message.ts';

const Settings = settings({
  url: secretUrl(
    "The webhook's address, https://hooks.slack.com/services/…. Others that take the same form, such as Mattermost, work too.",
  ),
  timeout_ms: TimeoutMs,
});

export const slackWebhook: Provider<typeof Settings> = {
  name: 'slack-webhook',
  title: 'Slack incoming webhook',
  medium: 'slack',
  summary: 'Posts to one Slack channel.',
  settings: Settings,
  dedupes: false,
  reach: () => 'room',
  open({ url, timeout_ms }, { outbound }) {
    const secrets = partsOfUrl(url);
    return stateless(({ content }) =>
      // Its answers are the word "ok", or a word for what is wrong with a status that fits.
      sendHttp(outbound, {
        url,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify(toMessage(content)),
        timeoutMs: timeout_ms,
        secrets,
      }),
    );
  },
};
