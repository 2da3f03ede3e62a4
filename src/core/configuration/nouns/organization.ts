import { Type } from 'typebox';
import { OrganizationGuard } from '../../decision/guards/guard.ts';
import { QuietHours } from '../../decision/quiet-hours.ts';
import { throttleLimits } from '../../decision/throttle.ts';
import { ServiceLevels } from '../../history/service-levels.ts';
import { logoUrlPattern } from '../../render/logo-url.ts';
import { declareNoun, type FieldsOf } from './noun.ts';
import { Name, Slug, unmanaged } from './schemas.ts';

export const organization = declareNoun({
  name: 'organization',
  key: 'slug',
  fields: {
    slug: Slug,
    name: Name,
    retention_days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3_650, description: `How long history is kept. ${unmanaged} Initially 90.` }),
    ),
    max_key_lifetime_days: Type.Optional(
      // Not a union, which would report each mistake once per branch.
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: 3_650,
        description: `Maximum lifetime of new API keys. ${unmanaged} Null (the initial value): no limit.`,
      }),
    ),
    brand_color: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        pattern: '^#[0-9a-fA-F]{6}$',
        patternHint: 'must be a color such as #1f5fbf',
        description: `Color of the pages that recipients see. ${unmanaged} Null: the default color.`,
      }),
    ),
    logo_url: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 2_048,
        pattern: logoUrlPattern,
        patternHint:
          'must be an https URL such as https://acme.test/logo.png, with an ASCII host name (use punycode for others)',
        format: 'url',
        description: `Logo on the pages that recipients see. ${unmanaged} Null: the name is shown instead.`,
      }),
    ),
    timezone: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 100,
        description: `Time zone of quiet hours, such as Europe/Berlin. ${unmanaged} Null (the initial value): UTC.`,
      }),
    ),
    quiet_hours: Type.Optional(
      Type.Unsafe<QuietHours | null>({
        ...QuietHours,
        type: ['object', 'null'],
        description: `For users who have not set their own. ${unmanaged} Null (the initial value): none.`,
      }),
    ),
    max_per_day: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        maximum: throttleLimits.max,
        description: `Maximum messages per user in 24 hours, over all events. Required and urgent messages do not count. ${unmanaged} Null (the initial value): no limit.`,
      }),
    ),
    guard: Type.Optional(
      Type.Unsafe<OrganizationGuard | null>({
        ...OrganizationGuard,
        type: ['object', 'null'],
        description: `When occurrences wait for an approval, and how many triggers are too many. ${unmanaged} Null (the initial value): the defaults.`,
      }),
    ),
    service_levels: Type.Optional(
      Type.Unsafe<ServiceLevels | null>({
        ...ServiceLevels,
        type: ['object', 'null'],
        description: `Targets for what Belfry itself does: alerts that are taken in, and first pages that leave in time. ${unmanaged} Null (the initial value): the defaults.`,
      }),
    ),
  },
  kept: {
    retention_days: 90,
    max_key_lifetime_days: null,
    brand_color: null,
    logo_url: null,
    timezone: null,
    quiet_hours: null,
    max_per_day: null,
    guard: null,
    service_levels: null,
  },
});
export type OrganizationFields = FieldsOf<typeof organization>;
