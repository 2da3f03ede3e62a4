import { Type } from 'typebox';
import { organization as noun } from '../../core/configuration/nouns/organization.ts';
import { optionalString } from '../../core/optional.ts';
import { readSamplePage } from '../../services/audience/preference-page.ts';
import { getSettings } from '../../services/configuration/organizations.ts';
import { preferencePage } from '../pages/preference-html.ts';
import { chooseLanguage, textsIn } from '../pages/preference-texts.ts';
import { endpoints } from '../server/route.ts';

const { plain } = endpoints('Organizations');

const { brand_color, logo_url } = noun.fields;

export const previewPreferencePage = plain(['org'], {
  id: 'previewPreferencePage',
  summary: 'Preview preference page',
  description:
    'Returns the page as a recipient without preferences sees it, as one self-contained HTML file. Absent fields default ' +
    "to the organization's settings. Nothing is stored.",
  body: Type.Object(
    {
      brand_color,
      logo_url,
      locale: optionalString({ maxLength: 35, description: 'Such as `de`. Default: `en`.' }),
    },
    { $id: 'PreferencePagePreviewRequest', additionalProperties: false },
  ),
  answer: Type.Object({ html: Type.String() }, { $id: 'PreferencePagePreview' }),
  handle: async ({ deps, organization: { id }, body: { locale = 'en', ...branding } }) => {
    const [settings, shown] = await Promise.all([getSettings(deps, id), readSamplePage(deps, id, locale)]);
    const organization = { ...settings, ...branding };
    const language = chooseLanguage(locale, undefined);
    const frame = { language, words: textsIn(language), nonce: '', organization, isEmbedded: true };
    const sampleUser = {
      organization_id: id,
      id: 0,
      username: '',
      email: '',
      locale,
      timezone: null,
      quiet_hours: null,
      reach: null,
      link_generation: 0,
      organization,
    };
    return { html: preferencePage(frame, sampleUser, shown, { saved: false }) };
  },
});
