/** The buttons of messages in chats, for the engine. */
import { titleOfAlert } from '../core/decision/bundle.ts';
import type { TenantDelivery } from '../core/feedback/identify.ts';
import {
  type Button,
  type ButtonChoice,
  signButtonToken,
  toBundleButtons,
  toButtons,
} from '../core/message/buttons.ts';
import type { Content } from '../core/render/render.ts';
import type { Delivery } from '../db/ledger/deliver/deliveries.ts';
import type { Signer } from '../lib/secrets/signer.ts';
import type { Bundle } from './messages.ts';
import type { PlannedChannel } from './plans.ts';

export type ButtonsFor = (
  delivery: Pick<Delivery, 'organization_id' | 'occurrence_id' | 'id' | 'step' | 'provider_index'>,
  channel: Pick<PlannedChannel, 'feedbackToken' | 'providers'>,
  message: Pick<Content, 'actions'> & {
    acknowledgeUrl: string;
    locale: string | undefined;
    bundle?: Bundle | undefined;
  },
) => { buttons?: Button[]; interactionUrl?: string };

/** `baseUrl` is undefined when the public address is not configured: then services need to know where to post to. */
export function createButtons(signer: Signer, baseUrl: string | undefined): ButtonsFor {
  return (
    { organization_id: organizationId, occurrence_id: occurrence, id, step, provider_index },
    channel,
    message,
  ) => {
    const { provider } = channel.providers[provider_index]!;
    const { bundle } = message;
    if (!provider.shows?.includes('buttons') || (step === 0 && !message.actions && !bundle)) return {};
    const reference = { organizationId, occurrence, id };
    const tokenOf = (of: TenantDelivery, choice: ButtonChoice) => signButtonToken(of, choice, signer.signShort);
    const buttons = bundle
      ? toBundleButtons(
          { ...message, step },
          tokenOf(reference, 'b'),
          bundle.items.map(item => ({
            title: titleOfAlert(item),
            token: tokenOf({ organizationId, occurrence: item.occurrence_id, id: item.id }, 'a'),
          })),
        )
      : toButtons({ ...message, step }, choice => tokenOf(reference, choice));
    if (buttons.length === 0) return {};
    if (baseUrl === undefined || !provider.interactions) return { buttons };
    return { buttons, interactionUrl: `${baseUrl}${interactionPath(channel.feedbackToken, provider.name)}` };
  };
}

/** Returns the path that the service of a channel's provider posts interactions to. */
export function interactionPath(feedbackToken: string, provider: string): string {
  return `/interactions/${feedbackToken}/${provider}/`;
}
