/* tirc: the compiler without Python. Tile IR in, named passes, tile IR out.
 *
 *     tirc fold,cse kernel.tir            what the passes make of it, on stdout
 *     tirc -t cuda:80 -w 8 assign_layouts 07-licm.tir
 *     tirc verify -                       reads stdin; the text as tirc prints it
 *     tirc interp kernel.tir              runs it, see below
 *     tirc --random 42 print              a random kernel with its ARG lines
 *     tirc -t cpu --random 0..99 tile,check    a hundred of them; errors name the seed
 *     tirc -t cpu --odd 0..99 tile,check       the same with sides as 3, 24, 100 among them
 *     tirc --products 0..99 copies        products of tensors' blocks: tirc_copies.c
 *
 * Words are passes of passes.def, or: print (changes nothing), locs (prints locations
 * from here on), verify (always done after reading and after each pass), tile (every
 * pass of that level, in order), host, simt, facts, access, interp, run, check, time, llir, asm,
 * ptx, skeleton. The result is printed at the end, unless the last word prints something else.
 * Errors go to stderr, with status 1.
 *
 *     interp            runs it, prints what the kernel prints, then its buffers
 *     run               the same with compiled code: -t cpu, emu:80, cuda:90 (first GPU)
 *     check             both must agree; -e is how far floats may be off (1e-5); -o 7
 *                       shuffles the emulator's threads by that seed
 *                       -m x86-64-v3 makes host code for a lesser CPU
 *                       -O hopper=2 is an option of a launch that is a text
 *                       -g 3 says of the launch's grid what a compile may ask (GRID_*)
 *     time              what codegen, loading and the best of 21 runs take
 *     llir asm ptx      print the code, optimised
 *     skeleton          of the PTX, what tells how threads work together (tirc_skeleton.c)
 *
 * Code for GPUs and the emulator is made from a function with layouts (word simt). A
 * random kernel is compiled without fused multiply-adds, which have another answer.
 *
 * facts prints what is known of each integer and pointer: contiguity, divisibility and
 * constancy per dim, range. access prints how wide each load and store may be along its
 * fastest dim; the parameters then show which questions that took ("?div8").
 *
 * interp, run, check and time take the grid and the arguments from comment lines of the
 * file, one line for each parameter, in order; a buffer is of the pointer's element type:
 *
 *     // GRID: 2, 1, 1                    missing: 1, 1, 1
 *     // ARG: 12                          a scalar
 *     // ARG: [1.0, nan, -0.0 x 6]        a buffer of 8 elements: x repeats
 *     // ARG: [0..127]                    counts up, ends included
 *     // ARG: [random 64 7]               64 elements from seed 7: small whole numbers
 *
 * interp and the emulator check every access against the buffers; after run, what stands
 * beside the buffers must be untouched.
 */
#include "tools/tirc.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- facts and accesses --------------------------------------------------------- */

static const char *
name_of(Comp *c, const Val *v)
{
    return v->name ? str_printf(c->arena, "%%%s", v->name) : "%-";
}

static void
print_facts(Comp *c, FactTable *t, const Val *v)
{
    if (!v->type->is_ptr && elem_is_float(v->type->elem))
        return;
    const Facts *f = facts_of(t, v);
    printf("// %s : %s", name_of(c, v), ty_str(c->arena, v->type));
    for (int d = 0; d < v->type->rank; d++)
        printf("  C%d D%d K%d", 1 << f->contiguity[d], 1 << f->divisibility[d],
               1 << f->constancy[d]);
    if (!v->type->rank)
        printf("  D%d", 1 << f->scalar_div);
    if (!v->type->is_ptr)
        printf("  %" PRId64 "..%" PRId64, f->lo, f->hi);
    printf("\n");
}

static void
print_access(Comp *c, FactTable *t, const Op *o)
{
    int dim = facts_fastest_dim(t, o);
    int w = facts_access_log2(t, o, dim, 16);
    printf("// %s %s: dim %d, %d elements\n", info(o)->text, name_of(c, arg(o, 0)), dim,
           1 << w);
}

static void
print_block_facts(Comp *c, FactTable *t, const Block *b, bool accesses)
{
    for (int i = 0; i < b->n_args && !accesses; i++)
        print_facts(c, t, b->args[i]);
    for (const Op *o = b->first; o; o = o->next) {
        bool is_access = o->op == OP_LOAD || o->op == OP_STORE ||
                         o->op == OP_ATOMIC_RMW;
        if (accesses && is_access && arg(o, 0)->type->rank)
            print_access(c, t, o);
        for (int i = 0; i < o->n_results && !accesses; i++)
            print_facts(c, t, result(o, i));
        for (int r = 0; r < o->n_regions; r++)
            print_block_facts(c, t, o->regions[r], accesses);
    }
}

/* ---- code ------------------------------------------------------------------------ */

static void
print_code(Func *f, const char *word)
{
    bool is_skeleton = !strcmp(word, "skeleton");
    const char *stage = is_skeleton ? "ptx" : word;
    const Stage *s = binary_stage(tirc_generate(f), stage);
    if (!s)
        err_at(f->c, NULL, ARGUMENT, stage, "this target has no such stage");
    if (is_skeleton)
        tirc_print_skeleton(f->c->arena,
                            str_printf(f->c->arena, "%.*s", (int)s->size, s->data));
    else
        fwrite(s->data, 1, s->size, stdout);
}

/* ---- words ---------------------------------------------------------------------- */

/* Runs one word; returns false when the function need not be printed after it. */
static bool
run_word(Comp *c, Tirc *t, Func *f, const char *w)
{
    const PassInfo *pass = pass_by_name(w);
    if (!strcmp(w, "interp")) {
        tirc_interp(c, t, f);
        return false;
    }
    if (!strcmp(w, "run") || !strcmp(w, "time")) {
        tirc_read_args(c, t, f);
        tirc_run(c, t, f, *w == 't');
        if (*w == 'r')
            tirc_print_buffers(c, t);
        return false;
    }
    if (!strcmp(w, "check")) {
        tirc_check(c, t, f);
        return false;
    }
    if (!strcmp(w, "copies") && t->is_product) {
        tirc_copies(c, t, f);
        return false;
    }
    if (!strcmp(w, "llir") || !strcmp(w, "asm") || !strcmp(w, "ptx") ||
        !strcmp(w, "skeleton")) {
        print_code(f, w);
        return false;
    }
    if (pass)
        pass->run(f);
    else if (!strcmp(w, "tile"))
        passes_run(f, order_tile);
    else if (!strcmp(w, "promoted"))
        tirc_promote(f);
    else if (!strcmp(w, "host"))
        passes_run(f, order_host);
    else if (!strcmp(w, "simt"))
        passes_run(f, order_simt);
    else if (!strcmp(w, "facts") || !strcmp(w, "access"))
        print_block_facts(c, facts_new(f), f->body, *w == 'a');
    else if (!strcmp(w, "locs"))
        t->with_locs = true;
    else if (strcmp(w, "print") != 0 && strcmp(w, "verify") != 0)
        err_at(c, NULL, ARGUMENT, "tirc",
               str_printf(c->arena, "no pass is named '%s'", w));
    ir_verify(f, w);
    return true;
}

static const char *
source_line(Comp *c, const char *file, int line)
{
    const Tirc *t = c->source_data;
    const char *s = t->text;
    if (strcmp(file, "tir") != 0)
        return NULL;
    for (; line > 1 && *s; line--) {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    return s;
}

static void
compile(Comp *c, void *data)
{
    Tirc *t = data;
    Func *f;
    if (t->is_product) {
        f = random_product(c, t->seed);
    } else if (t->is_random) {
        f = ir_random(c, &(RandomSpec){.seed = t->seed,
                                       .n_ops = t->n_ops,
                                       .odd_sides = t->is_odd});
        t->text = ir_random_args(f, t->seed);
    } else {
        f = ir_parse(c, t->text);
    }
    ir_verify(f, "reading");
    bool wants_text = true;
    for (const char *s = t->words; *s; s += *s == ',') {
        size_t n = strcspn(s, ",");
        wants_text = run_word(c, t, f, str_printf(c->arena, "%.*s", (int)n, s));
        s += n;
    }
    if (wants_text && t->is_random && !t->is_product)
        fputs(t->text, stdout);
    if (wants_text)
        fputs(ir_print(f, t->with_locs), stdout);
}

/* ---- the command line ----------------------------------------------------------- */

/* cpu, cuda:80, emu:sm_90a; sm_ may be missing. */
static bool
parse_target(const char *s, Target *t)
{
    *t = (Target){.kind = TARGET_CPU};
    if (!strcmp(s, "cpu"))
        return true;
    t->kind = !strncmp(s, "cuda:", 5) ? TARGET_CUDA : TARGET_EMU;
    if (t->kind == TARGET_EMU && strncmp(s, "emu:", 4) != 0)
        return false;
    s = strchr(s, ':') + 1;
    s += !strncmp(s, "sm_", 3) ? 3 : 0;
    char *end;
    t->sm = (int)strtol(s, &end, 10);
    t->accelerated = !strcmp(end, "a");
    return end != s && (!*end || t->accelerated);
}

static char *
read_text(const char *file)
{
    size_t n;
    return file_whole(strcmp(file, "-") ? file : "/dev/stdin", &n);
}

static int
usage(void)
{
    fputs(
        "usage: tirc [-t cpu|cuda:80|emu:90a] [-w warps] [-s stages] [-m cpu] [-e tolerance]\n"
        "            [-o order] [-O option=value] [-g grid] [--random|--odd|--products seed[..seed] [-n ops]] word[,word] [file]\n"
        "words: the passes of passes.def, tile, simt, print, locs, verify, facts, access,\n"
        "       interp, run, check, time, llir, asm, ptx; bitcode: of LLVM's text\n",
        stderr);
    return 2;
}

/* 42 or 0..99, ends included. */
static bool
parse_seeds(const char *s, Tirc *t)
{
    char *end;
    t->seed = t->last_seed = strtoull(s, &end, 0);
    if (!strncmp(end, "..", 2))
        t->last_seed = strtoull(end + 2, &end, 0);
    return end != s && !*end && t->last_seed >= t->seed;
}

/* name=value: as Comp.option_texts has it. */
static bool
add_option(Tirc *t, const char *s)
{
    const char *value = strchr(s, '=');
    size_t n = strlen(t->options), room = sizeof t->options - n;
    return value && (size_t)snprintf(t->options + n, room, "%.*s\t%s\n",
                                     (int)(value + 1 - s), s, value + 1) < room;
}

/* One function, in a Comp of its own; returns the exit status. */
static int
compile_one(Tirc *t, const Options *opt, const char *text, bool names_seed)
{
    Comp c;
    if (!comp_init(&c)) {
        fputs("out of memory\n", stderr);
        return 1;
    }
    t->text = text;
    t->c = &c;
    c.opt = *opt;
    c.cpu = t->cpu;
    c.option_texts = t->options;
    c.hopper.grid = t->grid_facts;
    c.source_line = source_line;
    c.source_data = t;
    bool ok = comp_run(&c, compile, t);
    fflush(stdout);
    if (!ok) {
        char *msg = err_render(&c, &c.err);
        if (names_seed)
            fprintf(stderr, "seed %" PRIu64 ": ", t->seed);
        fprintf(stderr, "%s\n", msg ? msg : "out of memory");
    }
    comp_done(&c);
    return !ok;
}

int
main(int argc, char **argv)
{
    static const Options defaults = {
        .num_warps = 4, .num_stages = 3, .num_ctas = 1, .enable_fp_fusion = true};
    Options opt = defaults;
    Tirc t = {.file = "-", .n_ops = 40, .tolerance = 1e-5};
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-' && argv[i][1]; i += 2) {
        if (!strcmp(argv[i], "-t") && parse_target(argv[i + 1], &opt.target))
            continue;
        if (!strcmp(argv[i], "-w") && (opt.num_warps = atoi(argv[i + 1])) > 0)
            continue;
        if (!strcmp(argv[i], "-s") && (opt.num_stages = atoi(argv[i + 1])) > 0)
            continue;
        if (!strcmp(argv[i], "-o") && (t.order = strtoull(argv[i + 1], NULL, 0)) > 0)
            continue;
        if (!strcmp(argv[i], "-e") && (t.tolerance = atof(argv[i + 1])) >= 0)
            continue;
        if (!strcmp(argv[i], "-m") && (t.cpu = argv[i + 1]))
            continue;
        if (!strcmp(argv[i], "-g") && (t.grid_facts = (unsigned)atoi(argv[i + 1])) > 0)
            continue;
        if (!strcmp(argv[i], "-O") && add_option(&t, argv[i + 1]))
            continue;
        if (!strcmp(argv[i], "-n") && (t.n_ops = atoi(argv[i + 1])) > 0)
            continue;
        t.is_odd = !strcmp(argv[i], "--odd");
        t.is_product = !strcmp(argv[i], "--products");
        bool is_made = t.is_odd || t.is_product || !strcmp(argv[i], "--random");
        if (!is_made || !parse_seeds(argv[i + 1], &t))
            return usage();
        if (t.is_product) { /* by copies, wherever they can be */
            parse_target("cuda:90a", &opt.target);
            add_option(&t, "hopper=3,all");
        }
        t.is_random = true;
        opt.enable_fp_fusion = false; /* one right answer */
    }
    if (i == argc || i + 2 < argc)
        return usage();
    t.words = argv[i];
    if (i + 1 < argc)
        t.file = argv[i + 1];
    char *text = t.is_random ? calloc(1, 1) : read_text(t.file);
    if (!text) {
        perror(t.file);
        return 1;
    }
    if (!strcmp(t.words, "bitcode")) {
        int bad = tirc_bitcode(text);
        free(text);
        return bad;
    }
    int status = 0;
    bool many = t.last_seed > t.seed;
    for (; t.seed <= t.last_seed; t.seed++)
        status |= compile_one(&t, &opt, text, many);
    tirc_copies_end(t.copies);
    gpu_close(t.gpu);
    free(text);
    return status;
}
