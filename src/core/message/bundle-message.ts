/** The message of a bundle of alerts, for every medium and in every language that acknowledging has texts in. */
import type { LocalizedText, MessageContent, MessageText } from '../render/compile.ts';
import { acknowledgeTextsIn } from './acknowledge-texts.ts';

interface BundleTexts {
  alerts: string;
  resolved: string;
  critical: string;
  more: string;
}

const texts: Record<string, BundleTexts> = {
  en: {
    alerts: '{{ count }} alerts',
    resolved: '{{ count }} alerts resolved',
    critical: '{{ critical }} critical',
    more: 'and {{ more }} more',
  },
  de: {
    alerts: '{{ count }} Alarme',
    resolved: '{{ count }} Alarme erledigt',
    critical: '{{ critical }} kritisch',
    more: 'und {{ more }} weitere',
  },
  es: {
    alerts: '{{ count }} alertas',
    resolved: '{{ count }} alertas resueltas',
    critical: '{{ critical }} críticas',
    more: 'y {{ more }} más',
  },
  fr: {
    alerts: '{{ count }} alertes',
    resolved: '{{ count }} alertes résolues',
    critical: '{{ critical }} critiques',
    more: 'et {{ more }} autres',
  },
};

const severity = '{% if item.severity != "" %} ({{ item.severity }}){% endif %}';

function titleOf({ alerts, resolved, critical }: BundleTexts): string {
  return `{% if occurrence.resolved %}${resolved}{% else %}${alerts}{% if critical > 0 %}, ${critical}{% endif %}{% endif %}`;
}

/** A list, with a link for each and one for all. */
function fullText(own: BundleTexts, language: string): MessageText {
  const { button, acknowledgeAll } = acknowledgeTextsIn(language);
  const link = `{% if item.acknowledge_url != "" %} [${button}]({{ item.acknowledge_url }}){% endif %}`;
  return {
    subject: titleOf(own),
    body: `{% for item in items %}- {{ item.title }}${severity}${link}
{% endfor %}
{% if more > 0 %}${own.more}{% endif %}

{% if acknowledge_url != "" %}[${acknowledgeAll}]({{ acknowledge_url }}){% endif %}`,
  };
}

/** Where links do not belong: buttons do it, or the application. */
function listText(own: BundleTexts): MessageText {
  return {
    subject: titleOf(own),
    body: `{% for item in items limit: 5 %}- {{ item.title }}${severity}
{% endfor %}
{% if count > 5 %}${own.more.replace('{{ more }}', '{{ count | minus: 5 }}')}{% endif %}`,
  };
}

/** The first three, and the link for all. */
function shortText(own: BundleTexts): MessageText {
  const titles =
    '{% for item in items limit: 3 %}{% unless forloop.first %}; {% endunless %}{{ item.title | truncate: 40 }}{% endfor %}';
  return { body: `${titleOf(own)}: ${titles}{% if acknowledge_url != "" %} {{ acknowledge_url }}{% endif %}` };
}

/** The first, read aloud. A key acknowledges all: the provider says which. */
function spokenText(own: BundleTexts): MessageText {
  return { body: `${titleOf(own)}. {{ items[0].title }}` };
}

function localize(text: (own: BundleTexts, language: string) => MessageText): LocalizedText {
  const { en, ...others } = texts;
  return {
    ...text(en!, 'en'),
    locales: Object.fromEntries(Object.entries(others).map(([language, own]) => [language, text(own, language)])),
  };
}

const list = localize(listText);

export const bundleMessage: MessageContent = {
  ...(localize(fullText) as LocalizedText & { body: string }),
  overrides: {
    sms: localize(shortText),
    voice: localize(spokenText),
    ...Object.fromEntries(['push', 'webpush', 'slack', 'telegram', 'discord'].map(medium => [medium, list])),
  },
};
