// SPDX-License-Identifier: Apache-2.0
// Frames narrower than a tenth of a point are left out of the tree: nobody could hit
// them, and the frame below tells their sum. Texts are cut here for those who run no
// scripts, and by the script where a frame's width changes; titles are whole. A graph
// that is taller than most windows has its root on top, and where the script turns it
// over it stays at its root. Its head with the search stays in view; so it is last.
#define _GNU_SOURCE
#include "render/picture/flame_svg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/package_path.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "base/utf8.h"

#define WIDTH 1200
#define ROW 18
#define TOP 62
#define BOTTOM 12
#define NAME_BYTES 2000u
#define LABEL_BYTES (2 * NAME_BYTES + 32)
#define CHARACTER 7.3 // as wide as one is
#define TALL 1000u

static const char style[] =
    "text{font:12px monospace;fill:#111;pointer-events:none}"
    "#head{font:17px sans-serif}#how{font:12px sans-serif;fill:#666}"
    "#bar rect{fill:#fff}#tip{pointer-events:none}#tip "
    "rect{fill:#fffff0;stroke:#888;stroke-width:1}"
    ".f rect{stroke:#fff;stroke-width:.5;cursor:pointer}.f:hover rect{stroke:#000;stroke-width:1}"
    ".hit rect{fill:#e600e6}.below rect{opacity:.45}"
    "input{font:13px sans-serif;width:200px}svg{background:#fff}"
    "@media(prefers-color-scheme:dark){svg{background:#16181c}#bar rect{fill:#16181c}"
    "#head{fill:#eee}#how,#found{fill:#aaa}.f rect{stroke:#16181c}.f:hover rect{stroke:#fff}"
    "input{background:#2a2d33;color:#eee;border:1px solid #666}}";

// What is under the pointer is told beside it, and within the picture. The titles
// are for those who run no scripts; with ours they would be told twice.
static const char script[] =
    "'use strict';\n"
    "const W=1200,all=[...document.querySelectorAll('g.f')],svg=document.documentElement,\n"
    "  found=document.getElementById('found'),box=document.getElementById('box'),\n"
    "  bar=document.getElementById('bar');\n"
    "function make(parent,kind,what){const e=document.createElementNS(svg.namespaceURI,kind);\n"
    "  for(const key in what)e.setAttribute(key,what[key]);return parent.appendChild(e)}\n"
    "const "
    "tip=make(svg,'g',{id:'tip',style:'display:none'}),plate=make(tip,'rect',{rx:3,height:38}),"
    "\n  first=make(tip,'text',{x:6,y:15}),second=make(tip,'text',{x:6,y:31});\n"
    "for(const g of all){g.s=+g.dataset.s;g.c=+g.dataset.c;g.d=+g.dataset.d;\n"
    "  const n=g.querySelector('title');g.n=n.textContent;n.remove();\n"
    "  "
    "g.r=g.querySelector('rect');g.t=g.querySelector('text');g.label=g.n.slice(0,g.n.lastIndexOf(':"
    " '))}\n"
    "const total=all[0].c,deepest=all.reduce((d,g)=>Math.max(d,g.d),0);\n"
    "let down='icicle'in svg.dataset;\n"
    "function follow(){bar.setAttribute('y',Math.max(0,scrollY))}\n"
    "function show_root(){scrollTo(0,down?0:svg.getBoundingClientRect().height);follow()}\n"
    "function turn(){down=!down;for(const g of all){const y=62+18*(down?g.d:deepest-g.d);\n"
    "  g.r.setAttribute('y',y);g.t.setAttribute('y',y+13)}show_root()}\n"
    "function cut(s,n){const c=[...s];return c.length<=n?s:c.slice(0,n-1).join('')+'\\u2026'}\n"
    "function place(g,x,w){g.style.display=w<=0?'none':'';if(w<=0)return;\n"
    "  g.r.setAttribute('x',x);g.r.setAttribute('width',Math.max(0,w-.3));\n"
    "  g.t.setAttribute('x',x+3);const n=Math.floor((w-6)/7.3);\n"
    "  g.t.textContent=n<2?'':cut(g.label,n)}\n"
    "function zoom(g){const k=W/g.c;for(const f of all){\n"
    "  const inside=f.s>=g.s&&f.s+f.c<=g.s+g.c&&f.d>=g.d,\n"
    "    under=f.d<g.d&&f.s<=g.s&&f.s+f.c>=g.s+g.c;\n"
    "  f.classList.toggle('below',under);\n"
    "  if(under)place(f,0,W);else if(inside)place(f,(f.s-g.s)*k,f.c*k);else place(f,0,0)}}\n"
    "function search(word){let re=null;found.textContent='';\n"
    "  try{re=word?new RegExp(word,'i'):null}catch(e){found.textContent='not a pattern'}\n"
    "  let hits=0;const spans=[];for(const f of all){const is=!!re&&re.test(f.label);\n"
    "    f.classList.toggle('hit',is);if(is){hits++;spans.push([f.s,f.s+f.c])}}\n"
    "  if(!re)return;spans.sort((a,b)=>a[0]-b[0]);let sum=0,end=0;\n"
    "  for(const[a,b]of spans){if(b>end){sum+=b-Math.max(a,end);end=b}}\n"
    "  found.textContent=hits+(hits===1?' frame, ':' frames, ')+"
    "(100*sum/total).toFixed(2)+' %'}\n"
    "function tell(g,e){first.textContent=cut(g.label,155);\n"
    "  second.textContent=g.n.slice(g.label.length+2);tip.style.display='';\n"
    "  const w=12+Math.max(first.getComputedTextLength(),second.getComputedTextLength()),\n"
    "    p=new DOMPoint(e.clientX,e.clientY).matrixTransform(svg.getScreenCTM().inverse()),\n"
    "    x=Math.max(0,Math.min(p.x+12,W-w)),y=e.clientY>60?p.y-50:p.y+20;\n"
    "  plate.setAttribute('width',w);tip.setAttribute('transform',`translate(${x},${y})`)}\n"
    "for(const g of all){g.addEventListener('click',()=>zoom(g));\n"
    "  g.addEventListener('mousemove',e=>tell(g,e));\n"
    "  g.addEventListener('mouseleave',()=>{tip.style.display='none'})}\n"
    "box.addEventListener('input',()=>search(box.value));\n"
    "document.addEventListener('keydown',e=>{if(e.key==='Escape'){box.value='';search('');\n"
    "  zoom(all[0])}else if(document.activeElement===box){return}\n"
    "  else if(e.key==='/'){e.preventDefault();box.focus()}\n"
    "  else if(e.key==='i'&&!e.ctrlKey&&!e.metaKey&&!e.altKey)turn()});\n"
    "addEventListener('scroll',follow);addEventListener('load',show_root);\n"
    "zoom(all[0]);\n";

// Any bytes as the text of an XML element: repaired, escaped, without what XML
// forbids.
static void put_xml(FILE *out, const char *text)
{
    char clean[UTF8_REPAIR_BOUND(LABEL_BYTES)];
    const size_t bytes = utf8_repair(clean, text, strnlen(text, LABEL_BYTES));
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)clean[i];
        const bool is_no_character = c == 0xef && i + 2 < bytes &&
                                     (unsigned char)clean[i + 1] == 0xbf &&
                                     (unsigned char)clean[i + 2] >= 0xbe;
        if (is_no_character) { // U+FFFE and U+FFFF
            fputs("?", out);
            i += 2;
        } else if (c == '&' || c == '<' || c == '>' || c == '"') {
            fputs(c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;", out);
        } else {
            putc(c < ' ' || c == 127 ? ' ' : c, out);
        }
    }
}

static void make_label(char label[LABEL_BYTES], const struct stack_frame *frame)
{
    const int used = snprintf(label, LABEL_BYTES, "%.*s", (int)NAME_BYTES, frame->name);
    if (!*frame->path)
        return;
    const char *path = package_path(frame->path);
    char *end = label + used;
    const size_t room = LABEL_BYTES - (size_t)used;
    if (frame->line > 0)
        snprintf(end, room, " (%.*s:%" PRId32 ")", (int)NAME_BYTES, path, frame->line);
    else
        snprintf(end, room, " (%.*s)", (int)NAME_BYTES, path);
}

// To what fits on a frame of that width.
static void cut_label(char label[LABEL_BYTES], double width)
{
    const double room = (width - 6) / CHARACTER;
    const size_t limit = room < 2 ? 0 : (size_t)room;
    size_t characters = 0, at = 0, before_last = 0;
    for (; label[at]; at++) {
        if (((unsigned char)label[at] & 0xc0) == 0x80)
            continue;
        before_last = characters + 1 == limit ? at : before_last;
        if (characters++ == limit)
            break;
    }
    if (!label[at])
        return;
    label[before_last] = '\0';
    if (limit)
        snprintf(label + before_last, LABEL_BYTES - before_last, "\xe2\x80\xa6");
}

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash ^ hash >> 15;
}

// Warm by name; of a comparison red for more, blue for less.
static void put_colour(FILE *out, const struct flame_tree *tree, const struct flame_node *node)
{
    const struct flame_node *root = &tree->nodes[0];
    if (!tree->has_before) {
        const uint32_t hash = hash_of(node->frame.name);
        fprintf(out, "rgb(%u,%u,%u)", 205 + hash % 50, 80 + (hash >> 8) % 130, (hash >> 16) % 60);
        return;
    }
    const double now = root->count ? (double)node->count / (double)root->count : 0;
    const double before = root->before ? (double)node->before / (double)root->before : 0;
    const double most = now > before ? now : before;
    const double change = most > 0 ? (now - before) / most : 0;
    const unsigned pale = (unsigned)(245 - 165 * (change < 0 ? -change : change));
    if (change >= 0)
        fprintf(out, "rgb(245,%u,%u)", pale, pale);
    else
        fprintf(out, "rgb(%u,%u,245)", pale, pale);
}

static void put_tip(FILE *out, const struct flame_tree *tree, const struct flame_node *node,
                    const char *label)
{
    const struct flame_node *root = &tree->nodes[0];
    put_xml(out, label);
    fprintf(out, ": %s sample%s, %.2f %%", units_count(node->count).text, units_plural(node->count),
            root->count ? 100.0 * (double)node->count / (double)root->count : 0);
    if (tree->has_before)
        fprintf(out, "; before %s, %.2f %%", units_count(node->before).text,
                root->before ? 100.0 * (double)node->before / (double)root->before : 0);
}

static void put_node(FILE *out, const struct flame_tree *tree, const struct flame_node *node,
                     bool is_icicle)
{
    char label[LABEL_BYTES];
    make_label(label, &node->frame);
    const double unit = (double)WIDTH / (double)tree->nodes[0].count;
    const double x = (double)node->start * unit, width = (double)node->count * unit;
    const uint32_t row = is_icicle ? node->depth : tree->depth - node->depth;
    const uint32_t y = TOP + row * ROW;
    fprintf(out, "<g class=\"f\" data-s=\"%" PRIu64 "\" data-c=\"%" PRIu64 "\" data-d=\"%u\">",
            node->start, node->count, node->depth);
    fputs("<title>", out);
    put_tip(out, tree, node, label);
    fprintf(out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
            width, ROW - 1);
    put_colour(out, tree, node);
    fprintf(out, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, y + 13);
    cut_label(label, width);
    put_xml(out, label);
    fputs("</text></g>\n", out);
}

static void put_head(FILE *out, const struct flame_tree *tree, const struct flame_svg *look)
{
    fprintf(out,
            "<svg id=\"bar\" width=\"%d\" height=\"%d\"><rect width=\"%d\" height=\"%d\"/>\n"
            "<text id=\"head\" x=\"8\" y=\"24\">",
            WIDTH, TOP - 4, WIDTH, TOP - 4);
    put_xml(out, look->title);
    fprintf(out,
            "</text>\n<text id=\"how\" x=\"8\" y=\"46\">%s sample%s%s; a click zooms, / searches, "
            "i turns it over, Esc shows all</text>\n<text id=\"found\" x=\"980\" "
            "y=\"48\"></text>\n<foreignObject "
            "x=\"980\" y=\"6\" width=\"215\" height=\"28\"><input "
            "xmlns=\"http://www.w3.org/1999/xhtml\" id=\"box\" placeholder=\"search: a "
            "pattern\"/></foreignObject></svg>\n",
            units_count(tree->nodes[0].count).text, units_plural(tree->nodes[0].count),
            tree->has_before ? ", red is more than before, blue is less" : "");
}

void flame_svg_put(FILE *out, const struct flame_tree *tree, const struct flame_svg *look)
{
    const uint32_t height = TOP + (tree->depth + 1) * ROW + BOTTOM;
    const bool is_icicle = look->is_icicle || height > TALL;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
            "xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d "
            "%u\"%s>\n<style>%s</style>\n",
            WIDTH, height, WIDTH, height, is_icicle ? " data-icicle=\"\"" : "", style);
    for (size_t i = 0; i < tree->count; i++)
        put_node(out, tree, &tree->nodes[i], is_icicle);
    put_head(out, tree, look);
    fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
}

static void put_speedscope_frames(struct json_writer *json, const struct stack_set *set)
{
    json_key(json, "shared");
    json_object(json);
    json_key(json, "frames");
    json_array(json);
    for (size_t i = 0; i < set->frame_count; i++) {
        const struct stack_frame *frame = &set->frames[i];
        json_object(json);
        json_put_text(json, "name", frame->name);
        if (*frame->path)
            json_put_text(json, "file", frame->path);
        if (frame->line > 0)
            json_put_int(json, "line", frame->line);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void put_speedscope_profile(struct json_writer *json, const struct stack_set *set,
                                   const char *title)
{
    json_object(json);
    json_put_text(json, "type", "sampled");
    json_put_text(json, "name", title);
    json_put_text(json, "unit", "none");
    json_put_uint(json, "startValue", 0);
    json_put_uint(json, "endValue", set->samples);
    json_key(json, "samples");
    json_array(json);
    for (size_t i = 0; i < set->entry_count; i++) {
        json_array(json);
        for (uint32_t depth = 0; depth < set->entries[i].depth; depth++)
            json_uint(json, set->ids[set->entries[i].first + depth]);
        json_close(json);
    }
    json_close(json);
    json_key(json, "weights");
    json_array(json);
    for (size_t i = 0; i < set->entry_count; i++)
        json_uint(json, set->entries[i].count);
    json_close(json);
    json_close(json);
}

void flame_svg_put_speedscope(FILE *out, const struct stack_set *set, const char *title)
{
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 1};
    json_object(&json);
    json_put_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_put_text(&json, "exporter", "gait");
    json_put_text(&json, "name", title);
    put_speedscope_frames(&json, set);
    json_key(&json, "profiles");
    json_array(&json);
    put_speedscope_profile(&json, set, title);
    json_close(&json);
    json_close(&json);
}
