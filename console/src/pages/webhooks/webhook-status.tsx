/** Status badge of a webhook. */
import type { Webhook } from '../../api-types.ts';
import { Mark } from '../../components/mark.tsx';
import { exactTime } from '../../components/time.tsx';
import { texts } from '../../texts/webhooks.ts';

export function WebhookStatus({ of: webhook }: { of: Webhook }) {
  const { enabled, disabled_reason, health } = webhook;
  if (!enabled) {
    return (
      <Mark color="gray" meaning={texts.offMeaning}>
        {texts.off}
      </Mark>
    );
  }
  if (disabled_reason) {
    return (
      <Mark color="red" meaning={disabled_reason === 'gone' ? texts.disabledGone : texts.disabledFailing}>
        {texts.disabled}
      </Mark>
    );
  }
  if (health.failing_since) {
    return (
      <Mark color="yellow" meaning={texts.failingMeaning(exactTime(health.failing_since))}>
        {texts.failing}
      </Mark>
    );
  }
  return (
    <Mark color="teal" meaning={health.last_success_at ? texts.activeMeaning : texts.newMeaning}>
      {texts.active}
    </Mark>
  );
}
