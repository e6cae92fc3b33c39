// Balls, level by level.
#include "graph/search/ball.hpp"

namespace tropical::search {

Ball ball_around(const Graph& graph, Vertex center, ptrdiff_t size, ptrdiff_t levels) {
    const Memory<char> inside(graph.n);
    Array<Vertex> ball{center};
    inside[center] = 1;
    ptrdiff_t begin = 0;  // of the surface in `ball`
    for (; levels > 0 && begin < ball.length() && ball.length() <= size; --levels) {
        const ptrdiff_t end = ball.length();
        for (; begin < end; ++begin) {
            const Graph::Range arcs = graph.arcs(ball[begin]);
            for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc) {
                const Vertex head = graph.head[arc];
                if (!graph.has(head) || inside[head]) continue;
                inside[head] = 1;
                ball.push_back(head);
            }
        }
    }
    return {ball.length(), ball.length() - begin};
}

}  // namespace tropical::search
